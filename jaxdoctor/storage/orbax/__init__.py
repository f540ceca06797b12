"""Orbax checkpoints, in every layout that Orbax has written, read without Orbax."""
