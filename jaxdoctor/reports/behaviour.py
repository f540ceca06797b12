"""What tells healthy rollouts apart: one-step errors, the width at which they behave otherwise, memory."""

from __future__ import annotations

from collections.abc import Iterator

from jaxdoctor.facts.memory import Memory
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.facts.precision import F32
from jaxdoctor.facts.text import counted
from jaxdoctor.facts.trial import Trial
from jaxdoctor.reports.wording import beyond_bits, in_bytes


def sentences(outcome: Outcome) -> Iterator[str]:
    """A sentence each."""
    if not beyond_bits(outcome):
        yield from _errors(outcome)
        yield from _behaviour(outcome)
    if outcome.memory is not None:
        yield from _memory(outcome.memory)


def _errors(outcome: Outcome) -> Iterator[str]:
    delivered, full = _delivered(outcome), _trial(outcome, F32.name)
    if delivered is None or full is None or delivered is full:
        return
    here, there = delivered.one_step_error, full.one_step_error
    if here is not None and there:
        name, times = delivered.precision.name, here / there
        said = f"{times:,.0f}" if times >= 10 else f"{times:.2g}"  # noqa: PLR2004 (two digits either way)
        yield f"one step at {name} errs by {here:.1e}, {said} x float32's {there:.1e}"


def _behaviour(outcome: Outcome) -> Iterator[str]:
    bits, delivered = outcome.behaviour_bits, _delivered(outcome)
    if bits is None:
        return
    said = f"behaves as in float32 down to {counted(bits, 'bit')}"
    if delivered is None or delivered.precision.mantissa_bits >= bits or delivered.horizon is None:
        yield said
        return
    seconds = "" if outcome.timestep is None else f", {delivered.horizon * outcome.timestep:.2g} s"
    name = delivered.precision.name
    yield f"{said}; at {name} replays leave x64's after {delivered.horizon:g} steps{seconds}"


def _memory(memory: Memory) -> Iterator[str]:
    if memory.ratio is None:
        return
    said = f"x64: {memory.ratio:.1f} x the memory of the replay"
    full, wide = memory.needed(x64=False), memory.needed(x64=True)
    if memory.batch is not None and full is not None and wide is not None:
        there = "" if memory.card is None else f", of {in_bytes(memory.card)}"
        sizes = f"{in_bytes(int(full))} in float32 and {in_bytes(int(wide))} at x64"
        said += f"; {counted(memory.batch, 'environment')} take about {sizes}{there}"
    yield said


def _delivered(outcome: Outcome) -> Trial | None:
    if outcome.as_delivered is not None:
        return outcome.as_delivered
    # A report that was read back names the trials alone.
    named = [trial for trial in outcome.trials if not trial.precision.name.isdecimal() and not trial.batch]
    return next((one for one in named if one.precision.mantissa_bits == outcome.delivered_bits), None)


def _trial(outcome: Outcome, name: str) -> Trial | None:
    alike = (trial for trial in outcome.trials if trial.precision.name == name and trial.batch is None)
    return next(alike, None)
