"""Every frozen value that a command gathers and a rule judges."""
