"""What the operating system tells about this machine, without jax."""
