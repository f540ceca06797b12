"""Packaged models that need no download, each with the reason it is there."""
