"""The smallest sets of sites that must be exact, found by asking for many hypotheses at once.

Pure search: what a hypothesis costs is a row of replays in a program that is compiled already, so whole
batches of them are asked together. It takes for granted that more exact sites never do harm; what it
finds was asked, not inferred.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Sites = frozenset[int]

Oracle = Callable[[Sequence[Sites]], Sequence[bool]]
"""Whether everything is well with only these sites exact, for each of several sets."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What the search has found."""

    sets: tuple[Sites, ...]
    """Sets that are enough, without a site to spare, the cheapest first; empty: not even all sites are."""

    necessary: Sites
    """Sites without which all others are not enough: they are in every set that is."""

    unique: bool
    """Whether no other set can be enough without holding the one that was found."""

    asked: int
    """How many hypotheses it took."""


class _Asking:
    """An oracle that is asked once for each set."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._known: dict[Sites, bool] = {}

    def __call__(self, sets: Sequence[Sites]) -> list[bool]:
        new = [each for each in dict.fromkeys(sets) if each not in self._known]
        if new:
            self._known.update(zip(new, self._oracle(new), strict=True))
        return [self._known[each] for each in sets]

    @property
    def asked(self) -> int:
        return len(self._known)


def minimal_sets(sites: int, oracle: Oracle, costs: Sequence[float]) -> Found:
    """The cheapest set that is enough, as far as the search looks, and whether it is the only one.

    First every site alone, and all but each: of independent sites that answers it. What is left is halved, as
    Zeller's delta debugging and Junker's QuickXplain do, dear sites first to be left out.

    Args:
        sites: how many there are; a set holds numbers from 0.
        oracle: is asked for sets of exact sites.
        costs: what each site costs when it is exact.
    """
    ask, everything = _Asking(oracle), frozenset(range(sites))
    if not ask([everything])[0] or ask([frozenset()])[0]:
        sets = (frozenset[int](),) if ask([everything])[0] else ()
        return Found(sets=sets, necessary=frozenset(), unique=bool(sets), asked=ask.asked)
    without = [everything - {site} for site in range(sites)]
    alone = [frozenset({site}) for site in range(sites)]
    answers = ask([*without, *alone])
    necessary = frozenset(site for site in range(sites) if not answers[site])
    if ask([necessary])[0]:
        return Found(sets=(necessary,), necessary=necessary, unique=True, asked=ask.asked)
    rest = sorted(everything - necessary, key=lambda site: costs[site])
    added = [necessary | {site} for site in rest]
    enough = [each for each, well in zip(added, ask(added), strict=True) if well]
    if not enough:
        enough = [necessary | _explained(ask, necessary, tuple(rest))]
    ordered = sorted(enough, key=lambda each: (sum(costs[site] for site in each), sorted(each)))
    return Found(sets=tuple(ordered), necessary=necessary, unique=False, asked=ask.asked)


def _explained(ask: _Asking, base: Sites, rest: tuple[int, ...], *, is_new: bool = False) -> Sites:
    """A smallest part of `rest` that is enough beside `base`, by QuickXplain (AAAI 2004)."""
    if is_new and ask([base])[0]:
        return frozenset()
    if len(rest) == 1:
        return frozenset(rest)
    first, second = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    of_second = _explained(ask, base | set(first), second, is_new=bool(first))
    of_first = _explained(ask, base | of_second, first, is_new=bool(of_second))
    return of_first | of_second
