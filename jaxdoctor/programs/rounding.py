"""Rounding float32 to a number of mantissa bits that is known only when the program runs."""

from __future__ import annotations

import jax
import jax.numpy as jnp

STORED_BITS = 23
"""Explicit mantissa bits of float32."""


def round_mantissa(x: jax.Array, bits: jax.Array, toward_zero: jax.Array) -> jax.Array:
    """`x` with only `bits` mantissa bits kept: to nearest, ties to even, or toward zero.

    To nearest it is bit-equal to `jax.lax.reduce_precision(x, 8, bits)`, which wants its width at trace
    time: subnormals keep the binary exponent's grid, what rounds past the largest value is infinite, NaN
    keeps its payload.

    Args:
        x: float32 of any shape.
        bits: an integer scalar from 0 to 23.
        toward_zero: a boolean scalar.
    """
    dropped = (STORED_BITS - bits).astype(jnp.uint32)
    unit = jnp.uint32(1) << dropped
    exact = toward_zero | (dropped == 0)
    # Half a unit less one, and one more where the last kept bit is odd: exact halves go to even.
    half = jnp.where(exact, jnp.uint32(0), (unit >> 1) - 1)
    odd = jnp.where(exact, jnp.uint32(0), jnp.uint32(1))
    pattern = jax.lax.bitcast_convert_type(x, jnp.uint32)
    rounded = (pattern + half + ((pattern >> dropped) & odd)) & ~(unit - 1)
    # The carry would turn a NaN into infinity or zero; truncation would empty its payload.
    return jnp.where(jnp.isnan(x), x, jax.lax.bitcast_convert_type(rounded, jnp.float32))
