"""One pass over a leaf's values, or a bounded sample of them, into the statistics that rules judge."""

from __future__ import annotations

import enum
import math
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from jaxdoctor.facts.dtypes import dtype_named
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.facts.precision import F32, F64
from jaxdoctor.facts.statistics import Statistics

SMALL_BYTES = 64 << 10
"""A leaf up to this size is read whole; of a larger one, as many bytes are sampled."""

BLOCK_ELEMENTS = 256 << 10
"""Elements looked at together: the second pass finds them in a cache, and there are few calls."""

DETAILED = 16 << 10
"""Elements of a leaf whose zeros, subnormals and mantissas are looked at."""

FEW = 64
"""A leaf of at most so many entries, all equal, is one number once for each device."""

TELLING = 32
"""Fewer different values than this do not tell in what precision they were computed."""

INTEGERS_SET_ASIDE = 4096
"""Quarters of integers up to this fit any precision, so they tell nothing."""

TYPICAL = 0.99
"""The share of magnitudes below the one that counts as typical of a leaf."""

FEWEST_SWAPPED = 16
"""Of fewer numbers than this, no byte order is concluded."""

ABSURD_SHARE = 0.4
SMALLEST_ORDINARY, LARGEST_ORDINARY = 1e-20, 1e10
"""Reversed, a float's lowest mantissa byte becomes its exponent, and 100 of 256 exponents lie in between."""

EXPONENTS = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}
"""The exponent bits of the types that have the IEEE layout; from them all on, a value is not finite."""

LOW_BITS = {"float32": F32.mantissa_bits, "float64": F64.mantissa_bits}
"""Types in which a narrower one can hide, and their mantissa bits."""


class Depth(enum.Enum):
    """How much of the values a scan reads."""

    NONE = "metadata-only"
    SAMPLE = "sample"
    ALL = "deep"


@dataclass
class _Tally:
    """What the blocks so far have shown."""

    seen: int = 0
    nan: int = 0
    positive_infinity: int = 0
    negative_infinity: int = 0
    first_nonfinite: int | None = None
    minimum: Any = None
    maximum: Any = None
    kept: list[Any] = field(default_factory=list)
    """Parts of the detailed sample."""

    kept_elements: int = 0

    def widen(self, low: Any, high: Any) -> None:
        """Takes another block's extremes in."""
        self.minimum = low if self.minimum is None else min(self.minimum, low)
        self.maximum = high if self.maximum is None else max(self.maximum, high)


def statistics_of(
    leaf: Leaf, depth: Depth, advance: Callable[[int], None] = lambda _: None
) -> Statistics | None:
    """The statistics of a leaf; None when nothing of it is to be read, or can be.

    `advance` hears how many bytes were looked at.
    """
    if depth is Depth.NONE or leaf.values is None or not leaf.size:
        return None
    small = leaf.size * leaf.type.itemsize <= SMALL_BYTES
    if small or depth is Depth.ALL:
        seen = summarize(leaf.values.stream(), leaf.dtype, leaf.size, advance)
        return seen if seen is None or leaf.values.in_order else replace(seen, first_nonfinite=None)
    return summarize([leaf.values.sample(SMALL_BYTES)], leaf.dtype, leaf.size, advance)


def summarize(
    pieces: Iterable[Any], dtype: str, size: int, advance: Callable[[int], None] = lambda _: None
) -> Statistics | None:
    """The statistics of flat arrays of one dtype; None for a dtype that has no order."""
    count = _counting(dtype)
    if count is None:
        return None
    tally = _Tally()
    for piece in pieces:
        flat = _native(piece)
        for start in range(0, len(flat), BLOCK_ELEMENTS):
            block = flat[start : start + BLOCK_ELEMENTS]
            count(block, tally)
            _keep(block, tally)
            tally.seen += len(block)
        advance(int(flat.nbytes))
    return _statistics(tally, dtype, size)


def _native(piece: Any) -> Any:
    """The piece in this machine's byte order."""
    flat = piece.reshape(-1)
    return flat if flat.dtype.isnative else flat.astype(flat.dtype.newbyteorder("="))


def _counting(dtype: str) -> Callable[[Any, _Tally], None] | None:
    known = dtype_named(dtype)
    if dtype in EXPONENTS:
        return _IEEE(dtype)
    if known.kind == "float":
        return _count_small_floats
    if known.kind == "complex":
        return _count_complex
    if known.kind in {"int", "uint", "bool"}:
        return _count_integers
    return None


def _count_integers(block: Any, tally: _Tally) -> None:
    plain = block if block.dtype.kind in "iu" else block.astype("int8")
    tally.widen(int(plain.min()), int(plain.max()))


def _count_small_floats(block: Any, tally: _Tally) -> None:
    _count_slowly(block.astype("float32"), tally)


def _count_complex(block: Any, tally: _Tally) -> None:
    """Real and imaginary parts as floats; a place counts elements, so two floats are one."""
    parts = block.view(block.real.dtype)
    before, tally.seen = tally.seen, tally.seen * 2
    first = tally.first_nonfinite
    _IEEE(parts.dtype.name)(parts, tally)
    tally.seen = before
    if first is None and tally.first_nonfinite is not None:
        tally.first_nonfinite //= 2


class _IEEE:
    """Looks at floats through their bits.

    Of non-negative floats, the larger one has the larger bits, read as an integer, and infinity and NaN
    have the largest; of negative floats, read unsigned, likewise. So two integer maxima, which a core
    takes at the speed of its memory, tell whether all is finite and where the extremes are.
    """

    def __init__(self, dtype: str) -> None:
        import numpy as np

        bits = dtype_named(dtype).bits
        self.dtype = dtype
        self.exponent = EXPONENTS[dtype]
        self.sign = 1 << (bits - 1)
        self.bits = bits
        self.signed, self.unsigned = np.dtype(f"int{bits}"), np.dtype(f"uint{bits}")
        self.largest, self.least = np.maximum.reduce, np.minimum.reduce

    def __call__(self, block: Any, tally: _Tally) -> None:
        signed, unsigned = block.view(self.signed), block.view(self.unsigned)
        positive, negative = int(self.largest(signed)), int(self.largest(unsigned))
        if positive >= self.exponent or negative >= self.sign + self.exponent:
            _count_slowly(block, tally)
            return
        high = positive if positive >= 0 else int(self.least(unsigned))
        low = negative if negative >= self.sign else int(self.least(signed))
        tally.widen(self.number(low), self.number(high))

    def number(self, bits: int) -> float:
        """The float of those bits."""
        if self.dtype == "bfloat16":
            return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])
        as_float, as_integer = PACKED[self.bits]
        return float(struct.unpack(as_float, struct.pack(as_integer, bits))[0])


PACKED = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}
"""How `struct` calls the IEEE floats of so many bits, and the integers of as many."""


def _count_slowly(block: Any, tally: _Tally) -> None:
    """Counts what is not finite, and takes the extremes of the rest."""
    import numpy as np

    wide = block if block.dtype in ("float32", "float64") else block.astype("float32")
    finite = np.isfinite(wide)
    if not finite.all():
        missing = wide[~finite]
        nan = int(np.isnan(missing).sum())
        tally.nan += nan
        tally.positive_infinity += int((missing > 0).sum())
        tally.negative_infinity += int((missing < 0).sum())
        if tally.first_nonfinite is None:
            tally.first_nonfinite = tally.seen + int(np.argmin(finite))
        wide = wide[finite]
    if len(wide):
        tally.widen(float(wide.min()), float(wide.max()))


def _keep(block: Any, tally: _Tally) -> None:
    """Keeps the beginning of a block for the closer statistics: each takes half of the room that is left."""
    room = DETAILED - tally.kept_elements
    if room <= 0:
        return
    part = block[: room if len(block) <= room else max(room // 2, 1)]
    tally.kept.append(part.copy())
    tally.kept_elements += len(part)


def _statistics(tally: _Tally, dtype: str, size: int) -> Statistics:
    low, high = tally.minimum, tally.maximum
    nonfinite = tally.nan + tally.positive_infinity + tally.negative_infinity
    largest = None if low is None else max(abs(low), abs(high))
    return Statistics(
        size=size,
        seen=tally.seen,
        nan=tally.nan,
        positive_infinity=tally.positive_infinity,
        negative_infinity=tally.negative_infinity,
        # A sample comes from many places, so that its own index says nothing about the leaf's.
        first_nonfinite=tally.first_nonfinite if tally.seen == size else None,
        minimum=low,
        maximum=high,
        largest_magnitude=largest,
        **_details(tally.kept, dtype, largest or 0, finite=not nonfinite),
    )


def _details(kept: list[Any], dtype: str, largest: float, *, finite: bool) -> dict[str, Any]:
    """What a bounded sample shows of zeros, signs, subnormals and mantissas: fields of `Statistics`.

    `largest` is the largest magnitude of the whole leaf, and `finite` whether all of it is.
    """
    import numpy as np

    known = dtype_named(dtype)
    if not kept:
        return {}
    values = np.concatenate(kept) if len(kept) > 1 else kept[0]
    seen: dict[str, Any] = {"fingerprint": hash(values.tobytes())}
    if known.kind not in {"float", "int"}:
        return seen
    if dtype not in LOW_BITS and known.kind == "float":
        values = values.astype("float32")
    seen["sampled"] = len(values)
    seen["zeros"] = len(values) - int(np.count_nonzero(values))
    seen["negatives"] = int(np.count_nonzero(values < 0))
    if known.kind == "float":
        seen |= _magnitudes(values, finite=finite)
    if dtype not in LOW_BITS:
        return seen
    subnormal = (np.abs(values) < np.finfo(values.dtype).tiny) & (values != 0)
    seen["subnormals"] = int(np.count_nonzero(subnormal))
    seen["distinct"], seen["low_bits_clear"] = _low_bits(values, dtype)
    odd = seen["subnormals"] or not finite or largest > LARGEST_ORDINARY
    seen["byte_swapped"] = bool(odd) and _byte_swapped(values)
    return seen


def _magnitudes(values: Any, *, finite: bool) -> dict[str, float]:
    """The 99th percentile of the magnitudes and the root mean square."""
    import numpy as np

    magnitudes = np.abs(values if finite else values[np.isfinite(values)])
    if not len(magnitudes):
        return {}
    largest = float(magnitudes.max())
    if len(magnitudes) == 1 or not largest:
        return {"typical": largest, "rms": largest}
    place = int(TYPICAL * (len(magnitudes) - 1))
    # Of the largest one, so that no square overflows and none that counts underflows.
    shares = magnitudes / magnitudes.dtype.type(largest)
    rms = largest * math.sqrt(float(shares @ shares) / len(shares))
    magnitudes.partition(place)
    return {"typical": float(magnitudes[place]), "rms": rms}


def _byte_swapped(values: Any) -> bool:
    """Whether nearly half of the numbers are absurd as they are, and none with their bytes reversed."""
    import numpy as np

    telling = values[values != 0]
    if len(telling) < FEWEST_SWAPPED or _absurd(np.abs(telling)) < ABSURD_SHARE:
        return False
    return _absurd(np.abs(telling.byteswap())) == 0


def _absurd(magnitudes: Any) -> float:
    """The share of magnitudes that no weight, moment or statistic has."""
    ordinary = (magnitudes > SMALLEST_ORDINARY) & (magnitudes < LARGEST_ORDINARY)
    return 1.0 - float(ordinary.mean())


def _low_bits(values: Any, dtype: str) -> tuple[int | None, int | None]:
    """How many values could tell, and the low mantissa bits that none of them uses."""
    import numpy as np

    mantissa = LOW_BITS[dtype]
    with np.errstate(over="ignore", invalid="ignore"):
        quarters = values * 4
        plain = (np.abs(quarters) <= INTEGERS_SET_ASIDE) & (quarters == np.trunc(quarters))
    telling = values[np.isfinite(values) & ~plain & (np.abs(values) >= np.finfo(values.dtype).tiny)]
    if len(telling) < TELLING:
        return None, None
    bits = telling.view(f"uint{dtype_named(dtype).bits}")
    used = int(np.bitwise_or.reduce(bits)) & ((1 << mantissa) - 1)
    clear = mantissa if not used else (used & -used).bit_length() - 1
    if not clear:
        return None, 0
    distinct = len(np.unique(bits))
    return distinct, None if distinct < TELLING or _on_a_grid(bits, clear, mantissa) else clear


def _on_a_grid(bits: Any, clear: int, mantissa: int) -> bool:
    """Whether the values are multiples of one step, as k/256, and not floats of fewer bits.

    Of floats rounded to fewer bits, about half use the last of them, whatever their exponent. On a grid
    only those of the largest exponent can.
    """
    exponents = (bits >> mantissa) & ((1 << (dtype_bits(bits) - 1 - mantissa)) - 1)
    smaller = bits[exponents < exponents.max()]
    if len(smaller) < TELLING // 2:
        return False
    share = float(((smaller >> clear) & 1).mean())
    return share < 1 / 10


def dtype_bits(values: Any) -> int:
    """The bits of one element of an array."""
    return int(values.dtype.itemsize) * 8


def number(statistics: Statistics | None, leaf: Leaf) -> int | float | None:
    """The value of a scalar, or of a few entries that are all equal."""
    if statistics is None or not statistics.whole or leaf.size > FEW:
        return None
    if statistics.nonfinite or statistics.minimum != statistics.maximum:
        return None
    return statistics.minimum
