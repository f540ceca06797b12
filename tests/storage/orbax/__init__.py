"""What Orbax checkpoints are made of."""
