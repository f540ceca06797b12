"""From an outcome to what should be set: enough, no more than enough, and at the price that was measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jaxdoctor.facts.finding import Finding
from jaxdoctor.facts.outcome import BEYOND_BITS, Outcome, Verdict
from jaxdoctor.facts.precision import F32
from jaxdoctor.facts.prescription import Means, Prescription, Setting
from jaxdoctor.facts.trial import Kind, Trial
from jaxdoctor.machine.judged import Machine
from jaxdoctor.prescriptions.from_findings import prescriber
from jaxdoctor.rules.prescribes import PRECISION, enough_bits

REACHES_NO_WARP = "MuJoCo Warp ignores these settings: it computes its physics itself"

NOTHING_HELPS = "the {} itself, which no precision mends, float64 included"


def prescribe(outcome: Outcome, findings: Iterable[Finding], machine: Machine) -> Prescription:
    """What the findings about this outcome ask for; nothing where no setting helps or none is needed."""
    because = tuple(dict.fromkeys(finding.code for finding in findings if prescriber(finding) is enough_bits))
    if outcome.verdict in BEYOND_BITS:
        return Prescription(reach=(NOTHING_HELPS.format(outcome.subject_word),))
    if outcome.verdict is not Verdict.PRECISION or outcome.required_bits is None:
        return Prescription()
    if outcome.required_bits > F32.mantissa_bits:
        return Prescription(settings=(_x64(outcome, because),), reach=_warp(outcome))
    return Prescription(
        settings=(_level(outcome, because, machine),), reach=_reach(outcome), instead=tuple(_instead(outcome))
    )


def _instead(outcome: Outcome) -> Iterator[str]:
    """The products that need the bits, and what raises only them; nothing that was not seen to help."""
    found = outcome.attribution
    wrapping = None if found is None else found.wrapping(outcome.stepped)
    if found is None or not (wrapping or found.setting):
        return
    yield f"raise only {found.words}: {found.share:.1%} of the operations of all products; tried: finite"
    if wrapping is not None:
        yield f"{outcome.stepped} = {wrapping}"
    if found.setting:
        yield f"{'or, before it is traced: ' if wrapping else ''}{'; '.join(found.setting)}"


def _level(outcome: Outcome, because: tuple[str, ...], machine: Machine) -> Setting:
    """`highest`, or `high` where it was seen to be enough on this very device, and cheaper."""
    value, trial = "highest", _native(outcome, F32.name)
    high = _native(outcome, "high")
    if high is not None and not high.failed and _cheaper(high, trial):
        value, trial = "high", high
    return Setting(
        means=Means.JAX,
        key=PRECISION,
        value=value,
        because=because,
        reason=(
            f"the {outcome.subject_word} requires {outcome.required_bits} mantissa bits and gets "
            f"{outcome.delivered_bits}; "
            f"{value} gives {F32.mantissa_bits if trial is None else trial.precision.mantissa_bits}"
        ),
        price=_price(trial, outcome, machine),
    )


def _x64(outcome: Outcome, because: tuple[str, ...]) -> Setting:
    trial = _native(outcome, "f64")
    full = _native(outcome, F32.name)
    times = _times(trial, full)
    parts = [
        None if times is None else f"{times:.1f} x the time per step of float32 on this machine",
        None
        if outcome.memory is None or outcome.memory.ratio is None
        else f"{outcome.memory.ratio:.1f} x the memory",
    ]
    return Setting(
        means=Means.JAX,
        key="jax_enable_x64",
        value=True,
        because=because,
        reason="float32 is not enough: it fails too, and float64 does not",
        price=", ".join(part for part in parts if part) or None,
    )


def _native(outcome: Outcome, name: str) -> Trial | None:
    for trial in outcome.trials:
        if trial.kind is Kind.NATIVE and trial.precision.name == name and trial.batch is None:
            return trial
    return None


def _cheaper(trial: Trial, other: Trial | None) -> bool:
    times = _times(trial, other)
    return times is not None and times < 1


def _times(trial: Trial | None, base: Trial | None) -> float | None:
    if trial is None or base is None or not trial.seconds_per_step or not base.seconds_per_step:
        return None
    return trial.seconds_per_step / base.seconds_per_step


def _price(trial: Trial | None, outcome: Outcome, machine: Machine) -> str | None:
    """Against what DEFAULT costs on this device; None where DEFAULT means float32 here already."""
    base = _native(outcome, "default")
    times = _times(trial, base)
    if times is None:
        return None
    timed_on = outcome.timed_on or machine.environment.accelerator.name
    return f"{times:.2f} x the time per step of default on {timed_on}"


def _reach(outcome: Outcome) -> tuple[str, ...]:
    """What `highest` leaves as it is in this very program."""
    if not outcome.own_precision:
        return _warp(outcome)
    lines = ", ".join(outcome.own_precision)
    return (f"products that name a precision of their own keep it: {lines}", *_warp(outcome))


def _warp(outcome: Outcome) -> tuple[str, ...]:
    """MuJoCo Warp steps models; a function's program is all JAX's."""
    return () if outcome.is_call else (REACHES_NO_WARP,)
