"""A task that compiles, for any environment with JAX."""

import sys


def compile_something(*, progress):
    """How often JAX asked its persistent cache, and how often that had the program."""
    sys.modules["filelock"] = None  # as a plain install is, whatever the tests' environment holds
    import jax
    import jax.numpy as jnp
    from jax import monitoring

    seen = {"hits": 0, "asked": 0}

    def count(event, **_):
        if event == "/jax/compilation_cache/cache_hits":
            seen["hits"] += 1
        if event == "/jax/compilation_cache/compile_requests_use_cache":
            seen["asked"] += 1

    monitoring.register_event_listener(count)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.jit(lambda x: jnp.linalg.cholesky(x @ x.T + jnp.eye(8)))(jnp.ones((8, 8))).block_until_ready()
    return seen
