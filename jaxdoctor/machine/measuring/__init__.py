"""What a worker measures of the machine that it runs on."""
