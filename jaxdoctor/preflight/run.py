"""`preflight`: everything that a configuration names, cheap before dear, in one report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jaxdoctor.config.settings import Config
from jaxdoctor.config.waivers import weighed
from jaxdoctor.errors import JaxdoctorError
from jaxdoctor.facts.finding import INTERRUPTED, Finding, Skipped
from jaxdoctor.facts.outcome import Demand, Outcome
from jaxdoctor.facts.report import Report
from jaxdoctor.preflight.baseline import against
from jaxdoctor.preflight.memory import Memory
from jaxdoctor.preflight.subjects import Subject, subjects
from jaxdoctor.prescriptions.from_findings import advice
from jaxdoctor.prescriptions.merge import merged
from jaxdoctor.rules.diagnose import diagnose
from jaxdoctor.workers.log import tell
from jaxdoctor.workers.progress import SILENT, Progress

LEAST_SECONDS = 1.0
"""With less time left nothing is begun."""

PRESCRIBING = {"machine", "probe"}
"""Kinds of subjects about which there can be something to set."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What the command line adds to the configuration."""

    level: int | None = None
    only: tuple[str, ...] = ()
    changed_only: bool = False
    baseline: Path | None = None
    time_limit: float | None = None


def preflight(
    config: Config, choice: Choice, progress: Progress = SILENT, memory: Memory | None = None
) -> Report:
    """Examines every subject within one time limit; what could not be examined is said.

    Raises:
        UsageError: `only` names nothing, or the baseline cannot be used.
    """
    todo = subjects(config, choice.level or config.level, choice.only)
    run = _Run(config, choice, progress, memory or Memory())
    report = replace(run.report(todo), subject=str(config.path or "this machine"))
    report = weighed(_demanding(report, config), config)
    path = choice.baseline
    if path is None and config.baseline is not None:
        path = config.folder / config.baseline
    return report if path is None else against(report, path)


def _demanding(report: Report, config: Config) -> Report:
    """The report with findings about margins that the configuration does not put up with."""
    if config.margin_bits is None:
        return report
    demands = [Demand(outcome=outcome, margin_bits=config.margin_bits) for outcome in report.outcomes]
    return replace(report, findings=(*report.findings, *diagnose(demands)))


class _Run:
    """One pass over the subjects."""

    def __init__(self, config: Config, choice: Choice, progress: Progress, memory: Memory) -> None:
        self.choice, self.progress, self.memory = choice, progress, memory
        self.seconds = choice.time_limit or config.time_limit
        self.deadline = time.monotonic() + self.seconds
        self.reports: list[tuple[Subject, Report]] = []
        self.skipped: list[Skipped] = []

    def report(self, todo: Sequence[Subject]) -> Report:
        partial = False
        try:
            for subject in todo:
                self._examine(subject)
        except KeyboardInterrupt:
            partial = True
            began = len(self.reports) + len(self.skipped)
            self.skipped += [Skipped(subject=one.name, reason=INTERRUPTED) for one in todo[began:]]
        return _together(self.reports, self.skipped, partial=partial)

    def _examine(self, subject: Subject) -> None:
        if self._recalled(subject):
            return
        left = self.deadline - time.monotonic()
        if left < LEAST_SECONDS:
            reason = f"the time limit of {self.seconds:g} s was reached before it began"
            self.skipped.append(Skipped(subject=subject.name, reason=reason))
            return
        tell(f"{subject.kind} {subject.name}, {left:.0f} s left")
        self.progress.stage(f"{subject.kind} {subject.name}")
        try:
            report = subject.examine(min(left, subject.time_limit or left), self.progress)
        except JaxdoctorError as error:
            self.skipped.append(Skipped(subject=subject.name, reason=f"{error}; {error.hint}"))
            return
        self.reports.append((subject, report))
        if self.choice.changed_only and subject.cached and report.examined:
            self.memory.keep(subject, report)

    def _recalled(self, subject: Subject) -> bool:
        """Whether an unchanged subject's earlier result was taken; the report says that it was."""
        known = self.memory.recall(subject) if self.choice.changed_only and subject.cached else None
        if known is None:
            return False
        reason = f"unchanged since {known.when}; its findings are those of then"
        note = Skipped(subject=subject.name, reason=reason)
        self.reports.append((subject, replace(known.report, skipped=(*known.report.skipped, note))))
        return True


def _together(
    reports: Sequence[tuple[Subject, Report]], skipped: Sequence[Skipped], *, partial: bool
) -> Report:
    told = [report for _, report in reports]
    machines = [report for subject, report in reports if subject.kind == "machine"]
    described = next((report.environment for report in [*machines, *told] if report.environment), None)
    prescriptions = [("this machine", advice(finding for report in told for finding in report.findings))]
    prescriptions += [
        (subject.name, report.prescription) for subject, report in reports if report.prescription
    ]
    return Report(
        command="preflight",
        subject="",
        examined=sum(report.examined for report in told),
        environment=described,
        findings=_distinct([finding for report in told for finding in report.findings]),
        deliveries=next((report.deliveries for report in machines if report.deliveries), ()),
        outcomes=tuple(
            _named(outcome, subject) for subject, report in reports for outcome in report.outcomes
        ),
        checkpoints=tuple(saved for report in told for saved in report.checkpoints),
        series=tuple(series for report in told for series in report.series),
        signatures=tuple(signature for report in told for signature in report.signatures),
        prescription=merged(prescriptions) if PRESCRIBING & {one.kind for one, _ in reports} else None,
        skipped=tuple(dict.fromkeys([*(one for report in told for one in report.skipped), *skipped])),
        partial=partial or any(report.partial for report in told),
    )


def _named(outcome: Outcome, subject: Subject) -> Outcome:
    """The outcome under the subject's name, which tells the card when there are several."""
    trials = tuple(replace(trial, source=subject.name) for trial in outcome.trials)
    return replace(outcome, subject=subject.name, trials=trials)


def _distinct(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Each finding once: every probe looks at the machine anew."""
    seen: dict[object, Finding] = {}
    for finding in findings:
        seen.setdefault((finding.code, finding.location, finding.message), finding)
    return tuple(seen.values())
