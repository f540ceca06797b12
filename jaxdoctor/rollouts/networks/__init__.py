"""The networks of policies, in JAX alone."""
