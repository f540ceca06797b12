"""The counters of a run over its checkpoints, beside the number at which each stops counting."""

from __future__ import annotations

from dataclasses import dataclass

from jaxdoctor.facts.counter import SavedCounter
from jaxdoctor.facts.series import Series


@dataclass(frozen=True, kw_only=True)
class History:
    """One counter, one value for each checkpoint of the series."""

    leaf: str
    dtype: str
    limit: int | None
    """None: it grows without end."""

    values: tuple[int | float | None, ...]
    """None where a checkpoint does not hold it."""

    @property
    def last(self) -> int | float | None:
        """The newest value that is known."""
        return next((value for value in reversed(self.values) if value is not None), None)

    @property
    def share(self) -> float:
        """How much of the limit is used up, from 0 to 1; a count that wrapped has used up all of it."""
        if self.last is None or not self.limit:
            return 0.0
        return 1.0 if self.last < 0 else min(self.last / self.limit, 1.0)


def histories(series: Series) -> list[History]:
    """The history of every counter, in the order of the leaves."""
    columns: dict[tuple[str, str], list[SavedCounter | None]] = {}
    for index, checkpoint in enumerate(series.checkpoints):
        for counter in checkpoint.counters:
            empty: list[SavedCounter | None] = [None] * len(series.checkpoints)
            columns.setdefault((counter.path, counter.dtype), empty)[index] = counter
    return [
        History(
            leaf=leaf,
            dtype=dtype,
            limit=next(counter.limit for counter in column if counter is not None),
            values=tuple(None if counter is None else counter.value for counter in column),
        )
        for (leaf, dtype), column in columns.items()
    ]
