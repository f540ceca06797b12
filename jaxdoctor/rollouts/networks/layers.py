"""Flax's layers, computed as Flax computes them, so that float32 results are the same to rounding."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

EPSILON = 1e-6
"""What Flax's LayerNorm adds to the variance."""


def dense(layer: Any, values: Any) -> Any:
    """The values times the kernel, plus the bias. At the precision that JAX is set to, as in Flax."""
    product = jax.lax.dot_general(values, layer["kernel"], (((values.ndim - 1,), (0,)), ((), ())))
    return product + layer["bias"] if "bias" in layer else product


def layer_norm(layer: Any, values: Any) -> Any:
    """Flax's LayerNorm over the last axis, with its fast variance: mean(x^2) - mean(x)^2, at least 0."""
    mean = values.mean(-1, keepdims=True)
    squares = jnp.square(values).mean(-1, keepdims=True)
    variance = jnp.maximum(0.0, squares - jnp.square(mean))
    return (values - mean) * (jax.lax.rsqrt(variance + EPSILON) * layer["scale"]) + layer["bias"]
