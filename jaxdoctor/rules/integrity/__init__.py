"""JD33x: whether a file is whole and can be trusted."""
