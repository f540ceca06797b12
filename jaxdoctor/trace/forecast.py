"""When a counter reaches its limit, by arithmetic alone."""

from __future__ import annotations

import math
from collections.abc import Mapping

from jaxdoctor.dtypes import dtype_named
from jaxdoctor.signature import Counter, Fate, Site

LARGEST_EXPONENT: Mapping[str, int] = {"float64": 1024, "float32": 128, "float16": 16, "bfloat16": 128}
"""Every finite value is below 2 to this power."""


def of_integer(
    leaf: str,
    dtype: str,
    *,
    increment: int,
    start: int | None,
    limit: int | None = None,
    conditional: bool = False,
    site: Site | None = None,
) -> Counter:
    """A count that wraps, or that the program holds back at a limit of its own.

    A start that is not known is taken for 0, which every framework begins with.
    """
    lowest, highest = _range(dtype)
    begin = start or 0
    if limit is not None and limit <= highest and increment > 0:
        fate, end = Fate.SATURATES, limit
        calls = -(-(end - begin) // increment)
    else:
        fate, end = Fate.WRAPS, highest if increment > 0 else lowest
        calls = abs(end - begin) // abs(increment) + 1
    return Counter(
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
    conditional: bool = False,
    site: Site | None = None,
) -> Counter:
    """A floating-point count, which first rounds its sums and then stands still."""
    calls, limit, inexact = stall(abs(increment), abs(start or 0.0), dtype)
    return Counter(
        leaf=leaf,
        dtype=dtype,
        fate=Fate.STALLS,
        increment=increment,
        conditional=conditional,
        start=start,
        limit=int(limit),
        calls=calls,
        inexact_after=inexact,
        site=site,
    )


def stall(increment: float, start: float, dtype: str) -> tuple[int, float, int | None]:
    """Additions until the sum stands still, the sum then, and additions until one was rounded.

    Goes from one power of two to the next: between them every sum is rounded alike, to nearest, ties to even.
    """
    mantissa = dtype_named(dtype).mantissa_bits
    assert mantissa is not None
    total, calls = start or increment, 0 if start else 1
    inexact: int | None = None
    while True:
        exponent = math.frexp(total)[1]
        if exponent > LARGEST_EXPONENT[dtype]:
            return calls, math.inf if dtype == "float64" else 2.0 ** LARGEST_EXPONENT[dtype], inexact
        spacing = math.ldexp(1.0, exponent - mantissa - 1)
        step = round(increment / spacing) * spacing
        if step != increment and inexact is None:
            inexact = calls
        if step == 0:
            return calls, total, inexact
        times = math.ceil((math.ldexp(1.0, exponent) - total) / step)
        calls += times
        total += times * step
        # The last sum may have crossed into the next binade, where it is rounded to twice the spacing.
        total = round(total / (2 * spacing)) * 2 * spacing
