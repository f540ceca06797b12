"""JD32x: the dtypes of what was saved."""
