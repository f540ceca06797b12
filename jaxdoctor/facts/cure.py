"""Changes to a failing model that were tried, and what they came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NAMED = 2
"""So many changes that mend a rollout are named, the likeliest first."""

LESS = 0.5
"""A change that leaves at most this share of the failures is worth naming where none mends them all."""


NOT_TRIED = " (not tried)"
"""Behind a change that a model's numbers alone suggest."""


@dataclass(frozen=True, kw_only=True)
class Cure:
    """A change to the model, and what became of the failing rollout with it."""

    change: str
    """In the words of the file: 'cone="pyramidal"'."""

    failed: int | None = None
    """Replays that failed with it; None: it was not tried, for want of time or because another mended it."""

    replays: int = 0
    instead_of: int = 0
    """Those that failed without it, from the same states and with the same controls."""

    where: str = ""
    """What replayed it: "MJX at x64", "MJX in float32" or "MuJoCo in C"."""

    @property
    def mends(self) -> bool:
        """Whether no replay failed with it, where some did without."""
        return self.failed == 0 and self.instead_of > 0


def advice(cures: Sequence[Cure]) -> str | None:
    """What was tried and came to something, then what was not tried; None where nothing was looked for."""
    # Where nothing failed without a change either, the change has not been tried on the fault.
    tried = [cure for cure in cures if cure.failed is not None and cure.instead_of]
    if not tried:
        return None
    untried = [cure.change for cure in cures if cure.failed is None]
    left = f"; not tried: {', '.join(untried)}" if untried else ""
    return _outcome_of(tried) + left


def _outcome_of(tried: Sequence[Cure]) -> str:
    mending = [cure for cure in tried if cure.mends]
    if mending:
        return "; or ".join(_mended(cure) for cure in mending[:NAMED])
    best = min(tried, key=lambda cure: cure.failed or 0)
    if (best.failed or 0) <= LESS * best.instead_of:
        return f"{best.change} lessens it: {_count(best)}"
    return f"changes to the model that were tried and do not mend it: {len(tried)}"


def _mended(cure: Cure) -> str:
    return f"{cure.change} mends it: {_count(cure)}"


def _count(cure: Cure) -> str:
    return f"{cure.failed} of {cure.replays} replays fail instead of {cure.instead_of}, tried in {cure.where}"
