"""From what the trials did to required bits and a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxdoctor.facts.outcome import RolledInC, StepInC, Verdict
from jaxdoctor.facts.precision import F32
from jaxdoctor.facts.trial import Trial

MORE_THAN_FLOAT32 = F32.mantissa_bits + 1
"""The required bits of a rollout that float32 does not keep finite and x64 does."""


def required_bits(widths: Mapping[int, Trial], x64: Trial | None) -> int | None:
    """The smallest width from which on, all wider ones too, the ensemble is as finite as at float32.

    A width that was not tried counts as finite where it lies between two that are, and as failing where it
    lies below the last of them and above one that fails.

    Args:
        widths: trials by mantissa bits, 23 among them.
        x64: the same in float64.

    Returns:
        24 when float32 fails and x64 does not; None when float32 was not tried, or fails with x64 unknown.
    """
    full = widths.get(F32.mantissa_bits)
    if full is None:
        return None
    if full.failed:
        if x64 is None:
            return None
        if not x64.failed or clearly_more(full, x64):
            return MORE_THAN_FLOAT32
    required = F32.mantissa_bits
    for bits in sorted(widths, reverse=True):
        if not as_finite(widths[bits], full):
            break
        required = min(required, bits)
    return required


def as_finite(trial: Trial, full: Trial) -> bool:
    """Whether it fails no more than float32 does; where float32 fails too, chance is allowed for."""
    return trial.failed == 0 if not full.failed else not clearly_more(trial, full)


def clearly_more(trial: Trial, other: Trial) -> bool:
    """Whether its share of failures is higher, and the 95 % intervals do not touch."""
    return trial.interval.low > other.interval.high


def verdict_of(
    delivered: Trial | None,
    full: Trial | None,
    x64: Trial | None,
    *,
    steps_in_c: Sequence[StepInC] | None = None,
    in_c: RolledInC | None = None,
    outgrown: int | None = None,
) -> Verdict:
    """Whether what the card delivers breaks the rollout, and whose fault that is: the earliest step's.

    Args:
        delivered: at what the card delivers.
        full: at float32.
        x64: in float64.
        steps_in_c: what MuJoCo in C made of the steps in which x64 failed.
        in_c: MuJoCo's own rollout.
        outgrown: replays that run away in MJX at x64, too, where that was looked at.
    """
    bounded = outgrown == 0 and x64 is not None and x64.steps > ((in_c and in_c.first_unusable_step) or 0)
    causes = [*_physics(x64, steps_in_c, None if bounded else in_c)]
    decides = deciding(delivered, full)
    if decides is not None and decides.failed:
        causes += _precision(decides, full, x64, min((step for step, _ in causes), default=None))
    if causes:
        return min(causes, key=lambda cause: (cause[0], ORDER.index(cause[1])))[1]
    return Verdict.UNKNOWN if decides is None or decides.failed else Verdict.HEALTHY


def deciding(delivered: Trial | None, full: Trial | None) -> Trial | None:
    """The trial to judge by: what the card delivers, or float32 where that alone fails.

    No card delivers more than float32 to a float32 product: what float32 breaks now and then, fewer bits
    break now and then too, though it may hit other replays.
    """
    if full is None or not full.failed or (delivered is not None and delivered.precision.x64):
        return delivered
    return delivered if delivered is not None and delivered.failed else full


ORDER = (Verdict.PRECISION, Verdict.MODEL, Verdict.ENGINE)
"""Which of several causes of one step is said: first what a setting mends, last what is not ours to mend."""

EARLIER = 2.0
"""A failure that comes in half the steps is no chance: rounding alone moves one by less,"""

FEW_STEPS = 5
"""but for the first few steps."""


def _physics(
    x64: Trial | None, steps_in_c: Sequence[StepInC] | None, in_c: RolledInC | None
) -> Iterator[tuple[int, Verdict]]:
    """What fails whatever the precision, with the step."""
    if x64 is not None and x64.failed:
        step = x64.first_bad_step or 0
        if steps_in_c:
            step = min(one.step for one in steps_in_c)
        holds = bool(steps_in_c) and all(one.holds for one in steps_in_c or () if one.step == step)
        yield step, Verdict.ENGINE if holds else Verdict.MODEL
    if in_c is not None and in_c.unusable:
        yield in_c.first_unusable_step or 0, Verdict.MODEL
    elif in_c is not None and in_c.growth is not None:
        # It has not broken yet: whatever else breaks comes first.
        yield LATEST, Verdict.MODEL


LATEST = 2**31


def _precision(
    delivered: Trial, full: Trial | None, x64: Trial | None, otherwise: int | None
) -> Iterator[tuple[int, Verdict]]:
    """That more bits mend it, with the step; nothing where that is not known.

    Args:
        delivered: fails.
        full: at float32.
        x64: in float64.
        otherwise: the step at which it fails whatever the precision.
    """
    step = delivered.first_bad_step or 0
    if x64 is not None and x64.failed:
        more = clearly_more(delivered, x64)
    else:
        more = otherwise is None and (x64 is not None or (full is not None and not full.failed))
    if more or EARLIER * (step + FEW_STEPS) < (otherwise or 0):
        yield step, Verdict.PRECISION
