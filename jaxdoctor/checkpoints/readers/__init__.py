"""One file a checkpoint format."""
