"""Brax's distributions of actions.

https://github.com/google/brax/blob/main/brax/training/distribution.py
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

LEAST_STD = 0.001
"""What Brax's NormalTanhDistribution adds to a standard deviation."""


def tanh_normal(parameters: Any, key: Any, *, stochastic: bool) -> Any:
    """Actions between -1 and 1: the hyperbolic tangent of a normal number.

    Args:
        parameters: means, and behind them as many standard deviations before softplus.
        key: of the draw.
        stochastic: whether it is drawn; else it is the mean.
    """
    mean, spread = jnp.split(parameters, 2, axis=-1)
    if not stochastic:
        return jnp.tanh(mean)
    return jnp.tanh(_drawn(mean, jax.nn.softplus(spread) + LEAST_STD, key))


def normal(parameters: Any, key: Any, *, stochastic: bool) -> Any:
    """Actions without bounds.

    Args:
        parameters: means, and behind them as many standard deviations.
        key: of the draw.
        stochastic: whether it is drawn; else it is the mean.
    """
    mean, std = jnp.split(parameters, 2, axis=-1)
    return _drawn(mean, std, key) if stochastic else mean


def choice(parameters: Any, key: Any, *, stochastic: bool) -> Any:
    """One of several actions, an int32.

    Args:
        parameters: the logarithm of each one's share, up to a constant.
        key: of the draw.
        stochastic: whether it is drawn; else it is the likeliest.
    """
    if not stochastic:
        return jnp.argmax(parameters, axis=-1).astype(jnp.int32)
    return jax.random.categorical(key, parameters.astype(jnp.float32)).astype(jnp.int32)


def _drawn(mean: Any, std: Any, key: Any) -> Any:
    # In float32 whatever the precision, so that every replay has the same noise.
    return jax.random.normal(key, mean.shape, jnp.float32).astype(mean.dtype) * std + mean
