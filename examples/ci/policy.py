"""A policy for `jaxdoctor probe policy.py:act --args policy.py:make_args --check policy.py:is_bad`."""

import jax
import jax.numpy as jnp


def act(weights, seen):
    """One hidden layer and actions between -1 and 1: batch x 4, float32."""
    return jnp.tanh(jnp.tanh(seen @ weights["hidden"]) @ weights["head"])


def make_args(seed):
    """Weights, and a batch of 32 observations."""
    hidden, head, seen = jax.random.split(jax.random.key(seed), 3)
    weights = {
        "hidden": jax.random.normal(hidden, (16, 64)) / 4,
        "head": jax.random.normal(head, (64, 4)) / 8,
    }
    return weights, jax.random.normal(seen, (32, 16))


def is_bad(action):
    """No actuator takes more than 1."""
    return jnp.abs(action) > 1
