"""The checkpoints of one run, in their order, and what the user expects of it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.counter import SavedCounter
from jaxdoctor.facts.leaf import Role

MOMENT = 1.0
"""Saves closer together than this, in seconds, were copied or unpacked: their times tell no rate."""


HALF = 1 << 30
"""A count must have come this far before a fall can be a wrap at 2^32."""

PATIENCE = 8
"""A wrap explains a fall when the step over the end is at most so many of the steps before."""

LONG_PATIENCE = 32
"""Or so many, when what is left is less than half a usual step: a restarted count would have come further."""

HALF_WORD, WORD = 1 << 31, 1 << 32


class Sighting(NamedTuple):
    """A counter in one checkpoint of a series."""

    saved: Checkpoint
    counter: SavedCounter


class Fall(NamedTuple):
    """A counter that is smaller in one checkpoint than in the one before."""

    before: Sighting
    after: Sighting
    grown: int | None
    """What it grew by when it wrapped at 2^32; None: a wrap does not explain it."""


def falls(sightings: Sequence[Sighting]) -> Iterator[Fall]:
    """Every fall of one counter over the checkpoints that hold it."""
    usual: list[float] = []
    for before, after in itertools.pairwise(sightings):
        first, second = before.counter.value, after.counter.value
        if second >= first:
            usual.append(second - first)
        else:
            yield Fall(before, after, _over_the_end(before.counter, after.counter, max(usual, default=0)))


def _over_the_end(before: SavedCounter, after: SavedCounter, usual: float) -> int | None:
    """The growth modulo 2^32, where that is likelier than a restart. Wider types hold wrapped counts too."""
    if not _of_a_word(before) or not _of_a_word(after) or before.value < HALF:
        return None
    second = int(after.value)
    grown = (second - int(before.value)) % WORD
    if not usual:
        return grown if grown < HALF else None
    if grown < PATIENCE * usual or (0 <= second < usual / 2 and grown < LONG_PATIENCE * usual):
        return grown
    return None


def _of_a_word(counter: SavedCounter) -> bool:
    """Whether it is an integer that 32 bits hold, signed or not."""
    wide = counter.type.integral and counter.type.bits >= 32 and counter.halves is None  # noqa: PLR2004
    return wide and -HALF_WORD <= counter.value < WORD


@dataclass(frozen=True, kw_only=True)
class Expectations:
    """What the user expects of the run."""

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
