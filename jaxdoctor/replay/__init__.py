"""The only place, with sources/ and remedies/, that touches jax and mujoco."""
