"""Names the arithmetic of a product by what it leaves of chosen operand values.

Every lane of a probing product is one value times 1, and the other terms of its sum are zero. So what comes
out of a lane is what the hardware made of that value before it multiplied.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxdoctor.facts.delivery import NAMED, Arithmetic
from jaxdoctor.facts.precision import F32, F64, Rounding

Values = NDArray[Any]

RANDOM_LANES = 96
"""Values with random mantissas, of either sign. A wrong name would have to match all of them."""

SPLIT_SHOWS_AT = 12
"""A single bit this far below the leading one survives a split scheme and neither TF32 nor bfloat16."""

WIDTHS = {np.dtype(np.float32): F32.mantissa_bits, np.dtype(np.float64): F64.mantissa_bits}

NAMES = {
    (precision.mantissa_bits, precision.rounding): arithmetic
    for arithmetic, precision in NAMED.items()
    if arithmetic is not Arithmetic.F64
}
"""What rounding an operand to so many mantissa bits is called."""


def lane_values(dtype: Any) -> Values:
    """The values to send through a product's lanes.

    First 1 + 2^-j: it shows whether bit j survives. Then 1 + 3 * 2^-j: two bits that round up together, so
    that rounding and truncation differ. Then dense mantissas over some 40 binary orders of magnitude, which
    distinguish a split into two narrow parts from a wide mantissa.
    """
    width = WIDTHS[np.dtype(dtype)]
    places = 2.0 ** -np.arange(1, width + 1)
    random = np.random.default_rng(0)
    dense = random.uniform(1, 2, RANDOM_LANES) * 2.0 ** random.integers(-20, 20, RANDOM_LANES)
    signs = random.choice([-1.0, 1.0], RANDOM_LANES)
    return np.concatenate([1 + places, 1 + 3 * places[1:], dense * signs]).astype(dtype)


def classify(sent: Values, got: Values) -> tuple[Arithmetic, int]:
    """The arithmetic that makes `got` of `sent`, and the mantissa bits that it keeps of every value.

    Args:
        sent: `lane_values`, in any order, any number of times.
        got: what came out of their lanes.
    """
    width = WIDTHS[sent.dtype]
    if np.array_equal(got, sent):
        return (Arithmetic.F32 if width == WIDTHS[np.dtype(np.float32)] else Arithmetic.F64), width
    if not np.isfinite(got).all():
        return Arithmetic.UNKNOWN, 0
    kept = _bits_kept(sent, got, width)
    for rounding in Rounding:
        if _is_rounded(sent, got, kept, rounding):
            return NAMES.get((kept, rounding), Arithmetic.UNKNOWN), kept
    bits = _bits_by_error(sent, got)
    deep = 1 + 2.0**-SPLIT_SHOWS_AT
    lanes = got[sent == sent.dtype.type(deep)]
    split = bits >= SPLIT_SHOWS_AT and lanes.size and bool((lanes == sent.dtype.type(deep)).all())
    return (Arithmetic.SPLIT if split else Arithmetic.UNKNOWN), bits


def _bits_kept(sent: Values, got: Values, width: int) -> int:
    """How many of the lanes 1 + 2^-1, 1 + 2^-2 ... come out as they went in, before one does not."""
    for bit in range(1, width + 1):
        lane = sent == sent.dtype.type(1 + 2.0**-bit)
        if not np.array_equal(got[lane], sent[lane]):
            return bit - 1
    return width


def _is_rounded(sent: Values, got: Values, bits: int, rounding: Rounding) -> bool:
    """Whether every lane was rounded to that many bits; ties may go to even or away from zero.

    IEEE rounding takes the even neighbour, `cvt.rna.tf32` the one further from zero:
    https://docs.nvidia.com/cuda/parallel-thread-execution/#data-movement-and-conversion-instructions-cvt
    """
    mantissa, exponent = np.frexp(sent.astype(np.float64))
    scale = np.ldexp(1.0, exponent - bits - 1)
    places = mantissa * 2.0 ** (bits + 1)
    if rounding is Rounding.TOWARD_ZERO:
        return np.array_equal(got, np.trunc(places) * scale)
    even = np.rint(places) * scale
    away = np.copysign(np.floor(np.abs(places) + 0.5), places) * scale
    return bool(((got == even) | (got == away)).all())


def _bits_by_error(sent: Values, got: Values) -> int:
    """The widest mantissa whose rounding to nearest leaves errors as large as those seen."""
    wide = sent.astype(np.float64)
    worst = float(np.max(np.abs(got.astype(np.float64) - wide) / np.abs(wide)))
    return max(0, int(np.floor(-np.log2(worst))) - 1)
