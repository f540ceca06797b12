"""A report written and read back: JSON, terminal, HTML and the other formats."""
