"""What one pass over the values of a leaf saw."""

from __future__ import annotations

from dataclasses import dataclass

OUTLYING = 1e6
"""What the largest magnitude of a leaf is beyond the typical one when it is an outlier."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Statistics:
    """What one pass over a leaf's values, or a sample of them, saw. Rules judge this, never the values."""

    size: int
    """Elements in the leaf."""

    seen: int
    """Elements looked at. Less than `size`: a sample."""

    nan: int = 0
    positive_infinity: int = 0
    negative_infinity: int = 0
    first_nonfinite: int | None = None
    """The flat index in the leaf of the first one seen."""

    sampled: int = 0
    """Elements of the bounded sample that the four counts below tell of."""

    zeros: int = 0
    negatives: int = 0
    subnormals: int = 0
    distinct: int | None = None
    """Different values among those that `low_bits_clear` tells of."""

    minimum: float | int | None = None
    """Of the finite values seen. An infinity of JSON never stands here."""

    maximum: float | int | None = None
    largest_magnitude: float | int | None = None
    low_bits_clear: int | None = None
    """The number of low mantissa bits that are zero in every value that could have shown them.

    Zeros, small integers, values on a fixed grid and non-finite values are set aside; None: too few
    different values were left.
    """

    typical: float | None = None
    """The magnitude that 99 % of the finite values in the sample do not exceed."""

    rms: float | None = None
    """The root mean square of the finite values in the sample."""

    fingerprint: int | None = None
    """Equal for equal values of the sample, within one process."""

    byte_swapped: bool = False
    """Whether the sample holds ordinary numbers only when its bytes are read in the other order."""

    @property
    def has_outlier(self) -> bool:
        """Whether one value is a million times as large as 99 % of them are at most."""
        largest, typical = self.largest_magnitude, self.typical
        return bool(largest) and bool(typical) and (largest or 0) >= OUTLYING * (typical or 0)

    @property
    def all_zero(self) -> bool:
        """Whether every value looked at is zero."""
        return self.seen > 0 and not self.nonfinite and self.minimum == self.maximum == 0

    @property
    def nonfinite(self) -> int:
        """NaN and infinities together."""
        return self.nan + self.positive_infinity + self.negative_infinity

    @property
    def whole(self) -> bool:
        """Whether every element was looked at."""
        return self.seen == self.size
