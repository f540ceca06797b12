"""JD30x: the numbers that a checkpoint holds."""
