"""From what the trials did to required bits and a verdict."""

from __future__ import annotations

from collections.abc import Mapping

from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.facts.precision import F32
from jaxdoctor.facts.trial import Trial

MORE_THAN_FLOAT32 = F32.mantissa_bits + 1
"""The required bits of a rollout that float32 does not keep finite and x64 does."""


def required_bits(widths: Mapping[int, Trial], x64: Trial | None) -> int | None:
    """The smallest width from which on, all wider ones too, the ensemble is as finite as at float32.

    Args:
        widths: trials by mantissa bits, 23 among them; the ones below without a gap.
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
    while required - 1 in widths and as_finite(widths[required - 1], full):
        required -= 1
    return required


def as_finite(trial: Trial, full: Trial) -> bool:
    """Whether it fails no more than float32 does; where float32 fails too, chance is allowed for."""
    return trial.failed == 0 if not full.failed else not clearly_more(trial, full)


def clearly_more(trial: Trial, other: Trial) -> bool:
    """Whether its share of failures is higher, and the 95 % intervals do not touch."""
    return trial.interval.low > other.interval.high


def verdict_of(delivered: Trial | None, full: Trial | None, x64: Trial | None) -> Verdict:
    """Whether what the card delivers breaks the rollout, and whether a higher precision mends it.

    Args:
        delivered: at what the card delivers.
        full: at float32.
        x64: in float64.
    """
    if delivered is None:
        return Verdict.UNKNOWN
    if x64 is not None and x64.failed:
        return Verdict.PRECISION if clearly_more(delivered, x64) else Verdict.MODEL
    if not delivered.failed:
        return Verdict.HEALTHY
    if x64 is not None or (full is not None and not full.failed):
        return Verdict.PRECISION
    return Verdict.UNKNOWN
