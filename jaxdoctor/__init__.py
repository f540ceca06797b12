"""Tells before the GPU hours are spent whether a JAX run will break on a given card, and why."""

__version__ = "0.1.0"
