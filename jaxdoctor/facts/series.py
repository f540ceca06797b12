"""The checkpoints of one run, in their order, and what the user expects of it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jaxdoctor.facts.checkpoint import Checkpoint, Role, SavedCounter

MOMENT = 1.0
"""Saves closer together than this, in seconds, were copied or unpacked: their times tell no rate."""


class Sighting(NamedTuple):
    """A counter in one checkpoint of a series."""

    saved: Checkpoint
    counter: SavedCounter


@dataclass(frozen=True, kw_only=True)
class Expectations:
    """What the user told us about the run."""

    planned_steps: int | None = None
    steps_per_second: float | None = None
    dtypes: Mapping[Role, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Series:
    """The checkpoints of one run, ordered by the time they were saved, then by step."""

    path: str
    checkpoints: tuple[Checkpoint, ...]
    expectations: Expectations = field(default_factory=Expectations)

    @functools.cached_property
    def histories(self) -> dict[str, tuple[Sighting, ...]]:
        """Each counter by its path, in the order of the checkpoints that hold it."""
        found: dict[str, list[Sighting]] = {}
        for saved in self.checkpoints:
            for counter in saved.counters:
                found.setdefault(counter.path, []).append(Sighting(saved, counter))
        return {path: tuple(sightings) for path, sightings in found.items()}

    @property
    def neighbours(self) -> Iterator[tuple[Checkpoint, Checkpoint]]:
        """Each checkpoint with the next one."""
        return itertools.pairwise(self.checkpoints)

    @functools.cached_property
    def rate(self) -> float | None:
        """Steps per second between the saves; None: fewer than two saves that tell step and time."""
        return _rate([(saved.saved_at, saved.step) for saved in self.checkpoints])

    def rate_of(self, path: str) -> float | None:
        """How fast that counter counts, per second."""
        return _rate([(saved.saved_at, counter.value) for saved, counter in self.histories.get(path, ())])


def _rate(readings: Sequence[tuple[float | None, float | None]]) -> float | None:
    """The median over the intervals in which both time and count rose: a wrap or a restart drops out."""
    known = [(when, count) for when, count in readings if when is not None and count is not None]
    rates = [
        (count - before) / (when - then)
        for (then, before), (when, count) in itertools.pairwise(known)
        if when - then >= MOMENT and count > before
    ]
    # `statistics.median` brings decimal, fractions and random in, which takes longer than a small scan.
    rates.sort()
    return rates[len(rates) // 2] if rates else None
