"""What becomes of the rewards, ends and observations of closed loops."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from jaxdoctor.facts.closed_loop import Episodes, Mean, Part
from jaxdoctor.replay.ensemble import Rollout
from jaxdoctor.replay.system import Driven

FAR = 1e6
"""An observation so many standard deviations away spoils the statistics that it is added to."""

PARTS: Mapping[str, Part] = {
    "observation": Part.OBSERVATION,
    "next_observation": Part.OBSERVATION,
    "normalised": Part.NORMALISER,
    "output": Part.OUTPUT,
    "action": Part.ACTION,
    "reward": Part.REWARD,
}
"""By the first part of a leaf's name; all others are the physics."""

Array = npt.NDArray[np.float64]


def part_of(field: str) -> Part:
    """Which part of a closed loop computes a leaf."""
    return PARTS.get(field.partition(".")[0], Part.PHYSICS)


def episodes_of(
    rollouts: Sequence[Rollout],
    driven: Driven,
    *,
    replays: int,
    aside: Iterable[str] = (),
    full: Array | None = None,
) -> Episodes:
    """The episodes of the rollouts of one lane.

    Args:
        rollouts: one for each part of the replays.
        driven: the policy, and which leaves it reads.
        replays: how many were asked for; the last part may hold more.
        aside: leaves that are not finite in a healthy replay either.
        full: the returns of the same replays at float32, NaN where there is none.
    """
    of_parts = [_Part(rollout, driven, set(aside)) for rollout in rollouts]
    returns = np.concatenate([part.returns for part in of_parts])[:replays]
    kept = [part.first(replays - before) for before, part in _counted(of_parts)]
    failing = [part for part in of_parts if part.earliest is not None]
    part, magnitude, deviations = (None, None, None)
    if failing:
        part, magnitude, deviations = min(failing, key=lambda one: one.earliest or 0).begins()
    change = None if full is None else returns[: len(full)] - full[: len(returns)]
    farthest = [far for part in of_parts if (far := part.farthest) is not None]
    return Episodes(
        ended=sum(one["ended"] for one in kept),
        longest=max(one["longest"] for one in kept),
        returns=mean_of(returns),
        change=None if change is None else mean_of(change),
        masked=sum(one["masked"] for one in kept),
        surviving=sum(one["surviving"] for one in kept),
        entering=sum(one["entering"] for one in kept),
        farthest=max(farthest, default=None),
        part=part,
        magnitude=magnitude,
        deviations=deviations,
    )


def returns_of(rollouts: Sequence[Rollout], driven: Driven, aside: Iterable[str] = ()) -> Array:
    """The sum of rewards of each replay until its episode's end; NaN where it was not finite so long."""
    return np.concatenate([_Part(rollout, driven, set(aside)).returns for rollout in rollouts])


def scales_of(rollouts: Sequence[Rollout], driven: Driven) -> tuple[float, float] | None:
    """The smallest and the largest root mean square of an entry of what the policy read."""
    rows = [_seen(rollout, driven) for rollout in rollouts]
    seen = np.concatenate([row.reshape(-1, row.shape[-1]) for row in rows])
    seen = seen[np.isfinite(seen).all(axis=1)]
    if not seen.size:
        return None
    sizes = np.sqrt(np.square(seen).mean(axis=0))
    return float(sizes.min()), float(sizes.max())


def mean_of(values: Array) -> Mean | None:
    """The mean of what is finite, with its interval; None: fewer than two are."""
    finite = values[np.isfinite(values)]
    if len(finite) < 2:  # noqa: PLR2004 (one has no spread)
        return None
    mean = float(finite.mean())
    reach = _t(len(finite) - 1) * float(finite.std(ddof=1)) / math.sqrt(len(finite))
    return Mean(value=mean, low=mean - reach, high=mean + reach)


def _t(freedom: int) -> float:
    """The 97.5 % quantile of Student's t distribution, by its expansion about the normal one's.

    M. Abramowitz, I. A. Stegun, "Handbook of Mathematical Functions", 26.7.5. The exact one for one degree.
    """
    if freedom == 1:
        return 12.706
    z, v = 1.959963984540054, freedom
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / v + second / v**2 + third / v**3


def _counted(parts: Sequence[_Part]) -> list[tuple[int, _Part]]:
    """Each part with how many replays come before it."""
    before = np.cumsum([0, *(part.replays for part in parts)]).tolist()
    return list(zip(before[:-1], parts, strict=True))


def _seen(rollout: Rollout, driven: Driven) -> Array:
    """What the policy read before each step and after the last: steps + 1 x replays x numbers."""
    leaves = [np.asarray(rollout.states[name], np.float64) for name in driven.reads]
    return np.concatenate([leaf.reshape(*leaf.shape[:2], -1) for leaf in leaves], axis=-1)


class _Part:
    """The replays of one rollout."""

    def __init__(self, rollout: Rollout, driven: Driven, aside: set[str]) -> None:
        self._rollout, self._driven = rollout, driven
        watched = np.array([leaf not in aside for leaf in rollout.leaves])
        self._bad = rollout.bad & watched
        self.steps, self.replays = rollout.bad.shape[:2]
        ill = self._bad.any(axis=2)
        self._failed_at = _first(ill)
        done = np.asarray(rollout.states["done"][1:]) > 0
        # After a replay has failed its row computes another's.
        done &= np.arange(self.steps)[:, None] <= self._failed_at
        self._done_at = _first(done)
        self._fails = (self._failed_at < self.steps) & (self._failed_at <= self._done_at)

    @property
    def returns(self) -> Array:
        """Of each replay; NaN where it was not finite until its end."""
        reward = np.asarray(self._rollout.states["reward"][1:], np.float64).reshape(self.steps, self.replays)
        within = np.arange(self.steps)[:, None] <= self._done_at
        return np.where(self._fails, np.nan, np.where(within, reward, 0.0).sum(axis=0))

    @property
    def _lasted(self) -> npt.NDArray[np.intp]:
        """Steps of each replay until its episode's end, its failure or the rollout's end."""
        return np.asarray(np.minimum(np.minimum(self._done_at, self._failed_at) + 1, self.steps))

    @property
    def earliest(self) -> int | None:
        """The first step at which a replay failed."""
        first = int(self._failed_at.min())
        return first if first < self.steps else None

    @property
    def farthest(self) -> float | None:
        """The largest finite distance from the normaliser's mean."""
        away = self._away()
        return None if away is None or not np.isfinite(away).any() else float(away[np.isfinite(away)].max())

    def first(self, replays: int) -> dict[str, int]:
        """The counts over the first so many replays."""
        chosen = slice(0, max(0, replays))
        masked = self._fails & (self._done_at == self._failed_at)
        surviving = self._fails & (self._done_at > self._failed_at)
        last = np.minimum(self._failed_at, self.steps - 1)
        seen = _seen(self._rollout, self._driven)[1:][last, np.arange(self.replays)]
        entering = surviving & ~np.isfinite(seen).all(axis=1)
        away = self._away()
        if away is not None:
            within = np.arange(self.steps + 1)[:, None] <= np.minimum(self._done_at, self._failed_at)
            entering |= (np.nan_to_num(away) > FAR).any(axis=(0, 2), where=within[..., None])
        return {
            "ended": int((self._done_at < self.steps)[chosen].sum()),
            "longest": int(self._lasted[chosen].max(initial=0)),
            "masked": int(masked[chosen].sum()),
            "surviving": int(surviving[chosen].sum()),
            "entering": int(entering[chosen].sum()),
        }

    def begins(self) -> tuple[Part, float | None, float | None]:
        """Where the earliest failing replay failed, and what the policy saw then."""
        step = int(self._failed_at.min())
        replay = int(self._failed_at.argmin())
        field = self._rollout.leaves[int(self._bad[step, replay].argmax())]
        seen = _seen(self._rollout, self._driven)[step, replay]
        finite = bool(np.isfinite(seen).all()) and seen.size > 0
        away = self._away()
        magnitude = float(np.abs(seen).max()) if finite else None
        deviations = float(away[step, replay].max()) if finite and away is not None else None
        return part_of(field), magnitude, deviations

    def _away(self) -> Array | None:
        """How far what was read is from the mean, in standard deviations; None: there is no normaliser."""
        driven, seen = self._driven, _seen(self._rollout, self._driven)
        if driven.mean is None or driven.std is None or driven.mean.size != seen.shape[-1]:
            return None
        with np.errstate(all="ignore"):
            return np.asarray(np.abs(seen - driven.mean.reshape(-1)) / driven.std.reshape(-1))


def _first(where: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """The first step of each replay at which it holds; the number of steps where it never does."""
    return np.where(where.any(axis=0), where.argmax(axis=0), len(where))
