"""Which products need the bits: hypotheses as lanes of the program that is compiled already."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from jaxdoctor.facts.attribution import Attribution, Need
from jaxdoctor.facts.precision import F32
from jaxdoctor.replay.ensemble import Ensemble
from jaxdoctor.replay.hypotheses import Hypotheses, OutOfTimeError
from jaxdoctor.replay.minimal_sets import Found, Sites, minimal_sets
from jaxdoctor.replay.plan import Lane
from jaxdoctor.workers.progress import Progress

MOST_SINGLY = 16
"""More sites than this are searched by the files that they stand in first."""


class Attributing:
    """One search on its way."""

    def __init__(
        self, ensemble: Ensemble, delivered: Lane, hypotheses: Hypotheses, *, progress: Progress
    ) -> None:
        self.ensemble, self.delivered, self.hypotheses = ensemble, delivered, hypotheses
        self.progress = progress
        self.sites = ensemble.program.sites
        self._exact = self.lane(frozenset(range(len(self.sites))))
        self._rounded = self.lane(frozenset())

    def run(self) -> Attribution:
        """The cheapest set of products that must be exact, with the width that each needs."""
        self.progress.stage(f"searching {len(self.sites)} products", self.hypotheses.recording.steps)
        try:
            why = self.hypotheses.undecided(self._exact, self._rounded)
            if why is not None:
                return self._undecided(why)
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
            replays=self.hypotheses.replays,
            hypotheses=self.hypotheses.asked,
            products=len(self.sites),
        )

    def lane(self, exact: Sites, widths: dict[int, int] | None = None) -> Lane:
        """Rounded as delivered but for exact products, and for those with a width of their own."""
        by_site = dict.fromkeys(exact, F32.mantissa_bits) | (widths or {})
        bits = min(self.delivered.bits, F32.mantissa_bits)
        return replace(
            self.delivered, by_site=tuple(by_site.get(site, bits) for site in range(len(self.sites)))
        )

    def _undecided(self, why: str) -> Attribution:
        return Attribution(
            needs=(),
            unique=False,
            replays=self.hypotheses.replays,
            hypotheses=self.hypotheses.asked,
            products=len(self.sites),
            undecided=why,
        )

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
        return self._well([self.lane(each) for each in sets])

    def _well(self, lanes: Sequence[Lane]) -> list[bool]:
        return self.hypotheses.well(lanes, self._exact, self._rounded)

    def _needs(self, chosen: Sites) -> tuple[Need, ...]:
        widths = range(min(self.delivered.bits, F32.mantissa_bits) + 1, F32.mantissa_bits)
        tried = [(site, bits) for site in sorted(chosen) for bits in widths]
        lanes = [self.lane(chosen, {site: bits}) for site, bits in tried]
        try:
            well = dict(zip(tried, self._well(lanes), strict=True))
        except OutOfTimeError:
            return tuple(self._need(site, None) for site in sorted(chosen))
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
