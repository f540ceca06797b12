"""JD31x: counters that wrap, stall or disagree."""
