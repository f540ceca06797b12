"""The counters of a run over its checkpoints, beside the number at which each stops counting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jaxdoctor.checkpoint import Checkpoint, Role, Series

LIMITS: Mapping[str, int] = {
    "int8": 2**7 - 1,
    "int16": 2**15 - 1,
    "int32": 2**31 - 1,
    "int64": 2**63 - 1,
    "uint8": 2**8 - 1,
    "uint16": 2**16 - 1,
    "uint32": 2**32 - 1,
    "uint64": 2**64 - 1,
    # Adding 1 to a float of p significant bits stops working at 2 to the p.
    "bfloat16": 2**8,
    "float16": 2**11,
    "float32": 2**24,
    "float64": 2**53,
}
"""The largest integer; of a float, the number from which on adding 1 changes nothing."""


@dataclass(frozen=True, kw_only=True)
class History:
    """One counter, one value for each checkpoint of the series."""

    leaf: str
    dtype: str
    limit: int
    values: tuple[int | float | None, ...]

    @property
    def last(self) -> int | float | None:
        """The newest value that is known."""
        return next((value for value in reversed(self.values) if value is not None), None)

    @property
    def share(self) -> float:
        """How much of the limit is used up, from 0 to 1."""
        return 0.0 if self.last is None else min(max(self.last / self.limit, 0.0), 1.0)


def histories(series: Series) -> list[History]:
    """The history of every counter with a number in it, in the order of the leaves."""
    columns: dict[tuple[str, str], list[int | float | None]] = {}
    for index, checkpoint in enumerate(series.checkpoints):
        for name, value in _counts(checkpoint).items():
            columns.setdefault(name, [None] * len(series.checkpoints))[index] = value
    return [
        History(leaf=leaf, dtype=dtype, limit=LIMITS[dtype], values=tuple(values))
        for (leaf, dtype), values in columns.items()
    ]


def _counts(checkpoint: Checkpoint) -> dict[tuple[str, str], int | float]:
    return {
        (leaf.path, leaf.dtype): leaf.value
        for leaf in checkpoint.leaves
        if leaf.role is Role.COUNTER and leaf.dtype in LIMITS and isinstance(leaf.value, (int, float))
    }
