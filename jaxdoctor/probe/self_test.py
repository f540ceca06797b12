"""Packaged scenarios: all of them to test jaxdoctor itself, or the first where no model was named.

Each was built to show something. What it was built to show is a note and no error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from jaxdoctor.errors import JaxdoctorError
from jaxdoctor.facts.finding import Finding, Severity, Skipped
from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.facts.report import Report
from jaxdoctor.machine.card import HERE
from jaxdoctor.machine.judged import Machine
from jaxdoctor.models.scenario import SCENARIOS, Scenario
from jaxdoctor.probe.ask import Ask
from jaxdoctor.probe.run import Examined, check, examine, interrupted, look_at, report_of, scenario_ask
from jaxdoctor.probe.stages import Staged
from jaxdoctor.rules.diagnose import diagnose
from jaxdoctor.workers.progress import SILENT, Progress

FAILING, HEALTHY = "hand", "quadruped"

SECOND_SECONDS = 60.0
"""With so much of the limit left, a healthy scenario follows the failing one."""

NO_MODEL = "no model named: this machine, and the packaged {names}"

SHARE = 2.0
"""A scenario may take so many times its share of the time that is left: most take less than theirs."""


def self_test(ask: Ask, *, card: str = HERE, progress: Progress = SILENT) -> Report:
    """Replays every packaged scenario within one time limit."""
    names = SCENARIOS.names()

    def left(done: int, deadline: float) -> float:
        now = time.monotonic()
        return min(deadline, now + SHARE * (deadline - now) / (len(names) - done))

    return _replayed(ask, card, names, left, progress, lambda _: "packaged scenarios")


def first_look(ask: Ask, *, card: str = HERE, progress: Progress = SILENT) -> Report:
    """Examines the machine and replays a scenario that TF32 breaks, and a healthy one where time is left."""

    def left(done: int, deadline: float) -> float | None:
        enough = not done or deadline - time.monotonic() >= SECOND_SECONDS
        return deadline if enough else None

    return _replayed(
        ask, card, [FAILING, HEALTHY], left, progress,
        lambda names: NO_MODEL.format(names=" and ".join(names)),
    )  # fmt: skip


def _replayed(
    ask: Ask,
    card: str,
    names: Sequence[str],
    left: Callable[[int, float], float | None],
    progress: Progress,
    subject: Callable[[Sequence[str]], str],
) -> Report:
    """The machine, and scenarios as long as `left` gives them a deadline; it takes how many are done."""
    check(ask)
    deadline = time.monotonic() + ask.time_limit
    machine = look_at(ask, card, deadline, progress)
    findings = tuple(diagnose(machine.facts))
    examined: list[Examined] = []
    begun: list[str] = []
    try:
        for done, name in enumerate(names):
            until = left(done, deadline)
            if until is None:
                continue
            begun.append(name)
            counted = Staged(progress, f"{name}, {done + 1} of {len(names)}, ")
            examined.append(_scenario(ask, name, machine, until, counted))
            if examined[-1].interrupted:
                break
        else:
            names = begun
    except KeyboardInterrupt:
        pass
    report = report_of(subject(begun), machine, findings, examined)
    left_out = names[sum(not one.interrupted for one in examined) :]
    return interrupted(report, left_out) if left_out else report


def _scenario(ask: Ask, name: str, machine: Machine, deadline: float, progress: Progress) -> Examined:
    scenario = SCENARIOS.load(name)
    own = scenario_ask(ask, name)
    try:
        examined = examine(own, machine, deadline, progress, expected=_expected(scenario, machine))
    except JaxdoctorError as error:
        return Examined(outcome=None, skipped=(Skipped(subject=name, reason=f"{error}; {error.hint}"),))
    outcome = examined.outcome
    if outcome is None or outcome.verdict is not outcome.expected:
        return examined
    return replace(examined, findings=tuple(_as_note(finding) for finding in examined.findings))


def _expected(scenario: Scenario, machine: Machine) -> Verdict:
    """What it was built to show where products get so many bits."""
    delivered = machine.delivered
    if scenario.required_bits is None or delivered is None:
        return scenario.expected
    enough = delivered.mantissa_bits >= scenario.required_bits[1]
    return Verdict.HEALTHY if scenario.expected is Verdict.PRECISION and enough else scenario.expected


def _as_note(finding: Finding) -> Finding:
    return replace(finding, severity=min(finding.severity, Severity.NOTE))
