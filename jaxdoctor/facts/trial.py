"""What an ensemble of replays did at one precision."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from dataclasses import dataclass

from jaxdoctor.facts.closed_loop import Episodes
from jaxdoctor.facts.precision import Precision


class Kind(enum.StrEnum):
    """Whether the device computed at that precision or it was emulated."""

    NATIVE = "native"
    EMULATED = "emulated"


@dataclass(frozen=True)
class Interval:
    """A 95 % confidence interval of a share."""

    low: float
    high: float


def wilson(failed: int, replays: int) -> Interval:
    """The Wilson score interval of `failed` out of `replays` at 95 %.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).
    """
    if replays == 0:
        return Interval(0.0, 1.0)
    z = 1.959963984540054  # the 97.5 % quantile of the normal distribution
    share = failed / replays
    centre = share + z * z / (2 * replays)
    spread = z * math.sqrt(share * (1 - share) / replays + z * z / (4 * replays * replays))
    scale = 1 + z * z / replays
    # At the ends the exact bounds are 0 and 1; the formula leaves rounding dust there.
    low = 0.0 if failed == 0 else (centre - spread) / scale
    high = 1.0 if failed == replays else (centre + spread) / scale
    return Interval(low, high)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """An ensemble of replays of one rollout at one precision."""

    source: str
    """The rollout's name: a model's path or a scenario."""

    precision: Precision
    kind: Kind
    replays: int
    steps: int
    failed: int
    """Replays in which any floating leaf of `mjx.Data` went non-finite."""

    first_bad_step: int | None = None
    """The earliest over all replays, counted from 0."""

    first_bad_field: str | None = None
    """The first field in pipeline order that was bad at that step: "qacc"."""

    first_bad_replay: int | None = None
    """A replay that was bad at that step, counted from 0."""

    hidden: int = 0
    """Failed replays in which qpos, qvel and act stayed finite all the same."""

    bad_fields: tuple[str, ...] = ()
    """Every field that was among the first to go bad in some replay."""

    batch: int | None = None
    """Replays in one program, where that is not what the probe was asked for: 1."""

    horizon: float | None = None
    """Median steps until the state leaves the x64 replay by the tolerance, or, at x64, C's; None: never."""

    shadow_horizon: float | None = None
    """The same after disturbing the start state by one float32 unit roundoff: chaos, not damage."""

    one_step_error: float | None = None
    """The median relative error of one step from the same states along the x64 trajectory."""

    episodes: Episodes | None = None
    """What became of a closed loop's episodes; None: no policy drives."""

    seconds_per_step: float | None = None
    """Wall time per step of one replay, in the batch."""

    compile_seconds: float | None = None
    peak_bytes: int | None = None

    @property
    def interval(self) -> Interval:
        """The Wilson 95 % interval of the share that failed."""
        return wilson(self.failed, self.replays)


def native_x64(trials: Iterable[Trial]) -> Trial | None:
    """The replays in float64, with as many in a program as all others had."""
    return next((trial for trial in trials if trial.precision.x64 and trial.batch is None), None)
