"""JD40x: the checkpoints of one run, in their order."""
