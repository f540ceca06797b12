"""Which products need the bits: hypotheses as lanes of the program that is compiled already."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import replace

from jaxdoctor.facts.attribution import Attribution, Need
from jaxdoctor.facts.precision import F32
from jaxdoctor.facts.trial import Interval, wilson
from jaxdoctor.replay.ensemble import Ensemble, Rollout
from jaxdoctor.replay.judge import judgement_of
from jaxdoctor.replay.minimal_sets import Found, Sites, minimal_sets
from jaxdoctor.replay.plan import Lane
from jaxdoctor.rollouts.record import Recording
from jaxdoctor.workers.progress import Progress

MOST_SINGLY = 16
"""More sites than this are searched by the files that they stand in first."""


class OutOfTimeError(Exception):
    """The deadline came before the search ended."""


class Attributing:
    """One search on its way."""

    def __init__(
        self,
        ensemble: Ensemble,
        recording: Recording,
        delivered: Lane,
        *,
        replays: int,
        deadline: float,
        aside: tuple[str, ...],
        progress: Progress,
    ) -> None:
        self.ensemble, self.recording, self.delivered = ensemble, recording, delivered
        self.replays, self.deadline, self.aside, self.progress = replays, deadline, aside, progress
        self.sites = ensemble.program.sites
        self.parts: dict[Lane, list[Rollout]] = {}

    def run(self) -> Attribution:
        """The cheapest set of products that must be exact, with the width that each needs."""
        self.progress.stage(f"searching {len(self.sites)} products", self.recording.steps)
        try:
            if not self._decided():
                return self._undecided(f"not decided by {self.replays} replays")
            found = self._search()
            if not found.sets:
                return self._undecided("not even with every product exact do the replays stay finite")
            needs = self._needs(found.sets[0])
        except OutOfTimeError:
            return self._undecided("the time limit left no time for the search")
        return Attribution(
            needs=needs,
            others=tuple(self._places(each) for each in found.sets[1:]),
            unique=found.unique,
            replays=self.replays,
            hypotheses=len(self.parts),
            products=len(self.sites),
        )

    def stays_finite(self, exact: Sites) -> bool:
        """Whether no replay fails that is rounded as delivered but for these products.

        Raises:
            OutOfTimeError: the deadline came before it was replayed.
        """
        lane = self._lane(dict.fromkeys(exact, F32.mantissa_bits))
        self._replay([lane])
        return judgement_of(lane, self.parts[lane], replays=self.replays, aside=self.aside).failed == 0

    def _undecided(self, why: str) -> Attribution:
        return Attribution(
            needs=(),
            unique=False,
            replays=self.replays,
            hypotheses=len(self.parts),
            products=len(self.sites),
            undecided=why,
        )

    def _decided(self) -> bool:
        """Whether the replays tell all exact from all rounded; with twice as many if need be, once."""
        everything = frozenset(range(len(self.sites)))
        for _ in range(2):
            exact, rounded = self._shares([everything, frozenset()])
            if not _overlap(exact, rounded):
                return True
            if 2 * self.replays > len(self.recording.ctrl):
                return False
            self.replays *= 2
        return False

    def _search(self) -> Found:
        shares = self.ensemble.program.shares
        if len(self.sites) <= MOST_SINGLY:
            return minimal_sets(len(self.sites), self._enough, shares)
        groups: dict[str, list[int]] = {}
        for index, site in enumerate(self.sites):
            groups.setdefault(site.place.partition(":")[0], []).append(index)
        members = list(groups.values())
        costs = [sum(shares[index] for index in group) for group in members]
        by_group = minimal_sets(
            len(members), lambda sets: self._enough([_joined(each, members) for each in sets]), costs
        )
        if not by_group.sets:
            return by_group
        inside = sorted(_joined(by_group.sets[0], members))

        def enough(sets: Sequence[Sites]) -> list[bool]:
            return self._enough([frozenset(inside[index] for index in each) for each in sets])

        found = minimal_sets(len(inside), enough, [shares[index] for index in inside])
        return Found(
            sets=tuple(frozenset(inside[index] for index in each) for each in found.sets),
            necessary=frozenset(inside[index] for index in found.necessary),
            unique=found.unique and by_group.unique,
            asked=found.asked + by_group.asked,
        )

    def _enough(self, sets: Sequence[Sites]) -> list[bool]:
        """Whether the replays fail as little as with every product exact, and not as they do with none."""
        everything = frozenset(range(len(self.sites)))
        exact, rounded, *shares = self._shares([everything, frozenset(), *sets])
        return [_overlap(share, exact) and not _overlap(share, rounded) for share in shares]

    def _shares(self, sets: Sequence[Sites]) -> list[Interval]:
        """The failing share of each hypothesis, with its Wilson interval."""
        lanes = [self._lane(dict.fromkeys(each, F32.mantissa_bits)) for each in sets]
        self._replay(lanes)
        return [self._share(lane) for lane in lanes]

    def _lane(self, widths: dict[int, int]) -> Lane:
        bits = min(self.delivered.bits, F32.mantissa_bits)
        by_site = tuple(widths.get(site, bits) for site in range(len(self.sites)))
        return replace(self.delivered, by_site=by_site)

    def _share(self, lane: Lane) -> Interval:
        judgement = judgement_of(lane, self.parts[lane], replays=self.replays, aside=self.aside)
        return wilson(judgement.failed, judgement.replays)

    def _replay(self, lanes: Sequence[Lane]) -> None:
        """As many replays in each lane as are wanted.

        Raises:
            OutOfTimeError: the deadline left some out.
        """
        batch = self.ensemble.batch
        missing = [
            replace(lane, first=part * batch)
            for lane in dict.fromkeys(lanes)
            for part in range(len(self.parts.get(lane, ())), -(-self.replays // batch))
        ]
        if not missing:
            return
        if time.monotonic() > self.deadline:
            raise OutOfTimeError
        rollouts = self.ensemble.roll_out(
            self.recording, missing, deadline=self.deadline, progress=self.progress
        )
        if len(rollouts) < len(missing) or time.monotonic() > self.deadline:
            raise OutOfTimeError
        for lane, rollout in zip(missing, rollouts, strict=True):
            self.parts.setdefault(replace(lane, first=0), []).append(rollout)

    def _needs(self, chosen: Sites) -> tuple[Need, ...]:
        widths = range(min(self.delivered.bits, F32.mantissa_bits) + 1, F32.mantissa_bits)
        tried = [(site, bits) for site in sorted(chosen) for bits in widths]
        exact = dict.fromkeys(chosen, F32.mantissa_bits)
        lanes = [self._lane({**exact, site: bits}) for site, bits in tried]
        everything = frozenset(range(len(self.sites)))
        whole, none = self._shares([everything, frozenset()])
        try:
            self._replay(lanes)
        except OutOfTimeError:
            return tuple(self._need(site, None) for site in sorted(chosen))
        well = {
            key: _overlap(self._share(lane), whole) and not _overlap(self._share(lane), none)
            for key, lane in zip(tried, lanes, strict=True)
        }
        return tuple(self._need(site, _smallest(site, widths, well)) for site in sorted(chosen))

    def _need(self, site: int, bits: int | None) -> Need:
        known = self.sites[site]
        return Need(
            place=known.place,
            bits=bits,
            explicit=known.explicit,
            at_batch_one=known.place in self._places_at_batch_one,
            share=self.ensemble.program.shares[site],
        )

    @functools.cached_property
    def _places_at_batch_one(self) -> set[str]:
        """Batching decides which products are matrix products; to see which, tracing is enough."""
        single = Ensemble(self.ensemble.simulation, batch=1)
        return {site.place for site in single.program.sites}

    def _places(self, chosen: Sites) -> tuple[str, ...]:
        return tuple(self.sites[site].place for site in sorted(chosen))


def _smallest(site: int, widths: range, well: dict[tuple[int, int], bool]) -> int:
    """The width from which on all are well."""
    smallest = F32.mantissa_bits
    for bits in reversed(widths):
        if not well[site, bits]:
            break
        smallest = bits
    return smallest


def _joined(chosen: Sites, groups: Sequence[Sequence[int]]) -> Sites:
    return frozenset(index for group in chosen for index in groups[group])


def _overlap(left: Interval, right: Interval) -> bool:
    return left.low <= right.high and right.low <= left.high
