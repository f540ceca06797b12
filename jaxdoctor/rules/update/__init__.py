"""JD50x: an update function, traced."""
