"""Rounding float32 to a number of mantissa bits, which may be known only when the program runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from jaxdoctor.facts.precision import F32


def round_mantissa(x: Any, bits: Any, toward_zero: Any) -> Any:
    """`x` with only `bits` mantissa bits kept: to nearest, ties to even, or toward zero.

    To nearest it is bit-equal to `jax.lax.reduce_precision(x, 8, bits)`, which wants its width at trace
    time: subnormals keep the binary exponent's grid, what rounds past the largest value is infinite, NaN
    keeps its payload.

    Args:
        x: a float32 array of any shape.
        bits: an integer scalar from 0 to 23.
        toward_zero: a boolean scalar.

    Returns:
        A float32 array of JAX's.
    """
    import jax  # noqa: PLC0415 (inspecting a model does without)
    import jax.numpy as jnp  # noqa: PLC0415

    pattern = _rounded(jax.lax.bitcast_convert_type(x, jnp.uint32), bits, toward_zero, jnp)
    # The carry would turn a NaN into infinity or zero; truncation would empty its payload.
    return jnp.where(jnp.isnan(x), x, jax.lax.bitcast_convert_type(pattern, jnp.float32))


def round_array(x: npt.NDArray[np.float32], bits: int, *, toward_zero: bool = False) -> npt.NDArray[Any]:
    """The same without JAX, for an array of NumPy's of one dimension or more."""
    pattern = _rounded(x.view(np.uint32), bits, toward_zero, np)
    return np.asarray(np.where(np.isnan(x), x, pattern.view(np.float32)))


def _rounded(pattern: Any, bits: Any, toward_zero: Any, xp: Any) -> Any:
    """The bits of the rounded numbers; `xp` is NumPy or `jax.numpy`."""
    dropped = xp.asarray(F32.mantissa_bits - bits).astype(xp.uint32)
    unit = xp.uint32(1) << dropped
    exact = toward_zero | (dropped == 0)
    # Half a unit less one, and one more where the last kept bit is odd: exact halves go to even.
    odd = xp.where(exact, xp.uint32(0), xp.uint32(1))
    half = xp.where(exact, xp.uint32(0), unit >> 1) - odd
    return (pattern + half + ((pattern >> dropped) & odd)) & ~(unit - xp.uint32(1))
