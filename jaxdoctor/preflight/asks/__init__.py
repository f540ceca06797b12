"""What is asked, from a command line and from an entry of the configuration: one builder for both."""
