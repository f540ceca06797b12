"""One file a family of accelerators: plain data."""
