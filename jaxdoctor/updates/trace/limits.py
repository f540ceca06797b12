"""When a counter reaches its limit, by arithmetic alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from jaxdoctor.facts.dtypes import dtype_named
from jaxdoctor.facts.signature import Fate, SourceLine, UpdateCounter

LARGEST_EXPONENT: Mapping[str, int] = {"float64": 1024, "float32": 128, "float16": 16, "bfloat16": 128}
"""Every finite value is below 2 to this power."""


def of_integer(
    leaf: str,
    dtype: str,
    *,
    increment: int,
    start: int | None,
    limit: float | None = None,
    floor: float | None = None,
    conditional: bool = False,
    site: SourceLine | None = None,
) -> UpdateCounter:
    """A count that wraps, or that the program holds back at a limit of its own.

    A start that is not known is taken for 0, which every framework begins with.
    """
    lowest, highest = _range(dtype)
    begin = start or 0
    bound = limit if increment > 0 else floor
    if bound is not None and lowest <= bound <= highest:
        fate, end = Fate.SATURATES if bound in {lowest, highest} else Fate.CAPPED, int(bound)
        calls = -(-abs(end - begin) // abs(increment))
    else:
        fate, end = Fate.WRAPS, highest if increment > 0 else lowest
        calls = abs(end - begin) // abs(increment) + 1
    return UpdateCounter(
        leaf=leaf,
        dtype=dtype,
        fate=fate,
        increment=increment,
        conditional=conditional,
        start=start,
        limit=end,
        calls=max(calls, 0),
        site=site,
    )


def _range(dtype: str) -> tuple[int, int]:
    if dtype == "uint32x2":
        return 0, 2**64 - 1
    kind = dtype_named(dtype)
    assert kind.maximum is not None
    return (0 if kind.kind == "uint" else -kind.maximum - 1), kind.maximum


def of_float(
    leaf: str,
    dtype: str,
    *,
    increment: float,
    start: float | None,
    limit: float | None = None,
    floor: float | None = None,
    conditional: bool = False,
    site: SourceLine | None = None,
) -> UpdateCounter:
    """A floating-point count, which rounds its sums and then stands still, or stops where it is told."""
    begin = start or 0.0
    bound = limit if increment > 0 else floor
    if bound is not None and math.isfinite(bound):
        return UpdateCounter(
            leaf=leaf,
            dtype=dtype,
            fate=Fate.CAPPED,
            increment=increment,
            conditional=conditional,
            start=start,
            limit=bound,
            calls=math.ceil(abs(bound - begin) / abs(increment)),
            site=site,
        )
    # Towards zero sums get finer, so the count begins where it crosses.
    crossing = begin * increment < 0
    calls, end, inexact = stall(abs(increment), 0.0 if crossing else abs(begin), dtype)
    calls += math.floor(abs(begin) / abs(increment)) if crossing else 0
    return UpdateCounter(
        leaf=leaf,
        dtype=dtype,
        fate=Fate.STALLS,
        increment=increment,
        conditional=conditional,
        start=start,
        limit=int(end) if increment > 0 else -int(end),
        calls=calls,
        inexact_after=inexact,
        site=site,
    )


def stall(increment: float, start: float, dtype: str) -> tuple[int, float, int | None]:
    """Additions until the sum stands still, the sum then, and the additions before the first rounded one.

    Between two powers of two every sum is rounded alike, once a tie has made the last bit even. So two sums
    are made one by one in each binade, and the rest of it is passed in one leap.
    """
    amount, total = Fraction(increment), Fraction(start)
    calls, inexact = 0, None
    while total < Fraction(2) ** LARGEST_EXPONENT[dtype]:
        for _ in range(2):
            after = _rounded(total + amount, dtype)
            if inexact is None and after != total + amount:
                inexact = calls
            if after == total:
                return calls, float(total), inexact
            calls, total = calls + 1, after
        step = _rounded(total + amount, dtype) - total
        if step:
            leaps = max(math.ceil((Fraction(2) ** _exponent(total) - total) / step) - 1, 0)
            if leaps and inexact is None and step != amount:
                inexact = calls
            calls, total = calls + leaps, total + leaps * step
    return calls, float(total), inexact


def _exponent(value: Fraction) -> int:
    """The smallest power of two above the value; sums are far from the subnormal numbers."""
    return math.frexp(float(value))[1]


def _rounded(value: Fraction, dtype: str) -> Fraction:
    """To nearest, ties to even."""
    mantissa = dtype_named(dtype).mantissa_bits
    assert mantissa is not None
    spacing = Fraction(2) ** (_exponent(value) - mantissa - 1)
    return round(value / spacing) * spacing
