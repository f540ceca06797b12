"""Pickles, read without executing what they call."""
