"""How much of the values in checkpoints was read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jaxdoctor.facts.checkpoint import Checkpoint


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """The leaves of all checkpoints of a report, by how much of them was read."""

    leaves: int = 0
    sampled: int = 0
    """Of which only a part of the values was looked at."""

    unread: int = 0
    """Of which no value was looked at."""

    value_bytes: int = 0
    """The size of all values, uncompressed."""

    seen_bytes: int = 0
    """The size of those that were looked at."""

    @property
    def whole(self) -> bool:
        """Whether every value was looked at."""
        return not self.sampled and not self.unread

    @property
    def share(self) -> float:
        """How much of the values was looked at, from 0 to 1."""
        return self.seen_bytes / self.value_bytes if self.value_bytes else 1.0


def coverage_of(checkpoints: Iterable[Checkpoint]) -> Coverage:
    """How much of these was read. Empty leaves, and scalars that the metadata tells, count as read."""
    leaves = sampled = unread = total = seen = 0
    for saved in checkpoints:
        for leaf in saved.leaves:
            leaves += 1
            size = int(leaf.size * leaf.type.itemsize)
            total += size
            if leaf.statistics is not None:
                looked_at = min(leaf.statistics.seen, leaf.size)
                seen += int(looked_at * leaf.type.itemsize)
                sampled += looked_at < leaf.size
            elif leaf.unsupported or (size and leaf.value is None):
                unread += 1
            else:
                seen += size
    return Coverage(leaves=leaves, sampled=sampled, unread=unread, value_bytes=total, seen_bytes=seen)


def summed(parts: Iterable[Coverage | None]) -> Coverage | None:
    """Several as one; None of none."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    return Coverage(
        leaves=sum(part.leaves for part in known),
        sampled=sum(part.sampled for part in known),
        unread=sum(part.unread for part in known),
        value_bytes=sum(part.value_bytes for part in known),
        seen_bytes=sum(part.seen_bytes for part in known),
    )
