"""`preflight`: everything that a configuration names, cheap before dear, in one report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jaxdoctor.config.selection import judged
from jaxdoctor.config.settings import Config
from jaxdoctor.config.waivers import idle_allowances
from jaxdoctor.errors import JaxdoctorError, UsageError
from jaxdoctor.facts.coverage import summed
from jaxdoctor.facts.finding import INTERRUPTED, Finding, Reused, Skipped
from jaxdoctor.facts.outcome import Demand, Outcome
from jaxdoctor.facts.report import Report
from jaxdoctor.preflight.baseline import against, known
from jaxdoctor.preflight.cards import for_cards
from jaxdoctor.preflight.memory import Memory
from jaxdoctor.preflight.subjects import Subject, every_subject, subjects
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
    records: Path | None = None
    """The baseline that is written from the report: it need not be there yet."""

    time_limit: float | None = None


def preflight(
    config: Config, choice: Choice, progress: Progress = SILENT, memory: Memory | None = None
) -> Report:
    """Examines every subject within one time limit; what could not be examined is said.

    Raises:
        UsageError: `only` names nothing, what the configuration names is not there, or the baseline cannot be
            used.
    """
    level = choice.level or config.level
    todo = subjects(config, level, choice.only)
    path = _baseline(config, choice)
    if path is not None:
        known(path, config.path)  # what is wrong with it is said before the work
    run = _Run(config, choice, progress, memory or Memory())
    report = replace(run.report(todo), subject=str(config.path or "this machine"))
    report = judged(for_cards(_demanding(report, config), config.cards), config)
    report = _with_the_rest(report, config, choice, level)
    return report if path is None else against(report, path, config.path)


def _with_the_rest(report: Report, config: Config, choice: Choice, level: int) -> Report:
    """The report with what the level leaves out, and the entries that name nothing of the whole project."""
    named = every_subject(config, level)
    beyond = [] if choice.only else [one for one in named if one.level > level]
    left = (
        Skipped(subject=one.name, reason=f"level {level} replays nothing, --level {one.level} does")
        for one in beyond
    )
    names = [*(one.name for one in named), *(one.subject for one in report.unexamined)]
    return replace(
        report,
        skipped=(*report.skipped, *left),
        # What a part of the project does not need, the whole may.
        idle_ignores=() if choice.only or beyond else report.idle_ignores,
        idle_allowances=idle_allowances(config, names),
    )


def _baseline(config: Config, choice: Choice) -> Path | None:
    """The baseline to compare with; none where this run is to write that very file."""
    path = choice.baseline
    if path is None and config.baseline is not None:
        path = config.folder / config.baseline
    if path is not None and choice.records is not None and path.resolve() == choice.records.resolve():
        return None
    return path


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
            self.skipped += [
                Skipped(subject=one.name, reason=INTERRUPTED, asked=True) for one in todo[began:]
            ]
        return _together(self.reports, self.skipped, partial=partial)

    def _examine(self, subject: Subject) -> None:
        if self._recalled(subject):
            return
        left = self.deadline - time.monotonic()
        if left < LEAST_SECONDS:
            self._skip(subject, f"the time limit of {self.seconds:g} s was reached before it began")
            return
        tell(f"{subject.kind} {subject.name}, {left:.0f} s left")
        self.progress.stage(f"{subject.kind} {subject.name}")
        try:
            report = subject.examine(min(left, subject.time_limit or left), self.progress)
        except UsageError as error:
            where = f"{subject.at}: " if subject.at else ""
            self._skip(subject, f"{where}{error}; {error.hint}", misuse=True)
            return
        except JaxdoctorError as error:
            self._skip(subject, f"{error}; {error.hint}")
            return
        self.reports.append((subject, _of_subject(report, subject)))
        if self.choice.changed_only and subject.cached and report.examined and not report.unjudged:
            self.memory.keep(subject, report)

    def _skip(self, subject: Subject, reason: str, *, misuse: bool = False) -> None:
        self.skipped.append(Skipped(subject=subject.name, reason=reason, asked=True, misuse=misuse))

    def _recalled(self, subject: Subject) -> bool:
        """Whether an unchanged subject's earlier result was taken; the report says that it was."""
        known = self.memory.recall(subject) if self.choice.changed_only and subject.cached else None
        if known is None:
            return False
        earlier = _of_subject(known.report, subject)
        reused = Reused(subject=subject.name, when=known.when)
        self.reports.append((subject, replace(earlier, reused=(reused,))))
        return True


def _of_subject(report: Report, subject: Subject) -> Report:
    """The report with what it skipped named after the subject, which was asked for."""
    if report.examined == 0 and not any(one.asked for one in report.unexamined):
        reasons = "; ".join(dict.fromkeys(one.reason for one in report.skipped)) or "nothing was judged"
        return replace(report, skipped=(Skipped(subject=subject.name, reason=reasons, asked=True),))
    names = {outcome.subject for outcome in report.outcomes}
    return replace(
        report,
        skipped=tuple(
            replace(one, subject=subject.name) if one.subject in names else one for one in report.skipped
        ),
    )


def _together(
    reports: Sequence[tuple[Subject, Report]], skipped: Sequence[Skipped], *, partial: bool
) -> Report:
    stated = [report for _, report in reports]
    machines = [report for subject, report in reports if subject.kind == "machine"]
    described = next((report.environment for report in [*machines, *stated] if report.environment), None)
    prescriptions = [("this machine", advice(finding for report in stated for finding in report.findings))]
    prescriptions += [
        (subject.name, report.prescription) for subject, report in reports if report.prescription
    ]
    return Report(
        command="preflight",
        subject="",
        examined=sum(report.examined for report in stated),
        environment=described,
        findings=_distinct([finding for report in stated for finding in report.findings]),
        deliveries=next((report.deliveries for report in machines if report.deliveries), ()),
        outcomes=tuple(
            _named(outcome, subject) for subject, report in reports for outcome in report.outcomes
        ),
        coverage=summed(report.coverage for report in stated),
        checkpoints=tuple(saved for report in stated for saved in report.checkpoints),
        series=tuple(series for report in stated for series in report.series),
        signatures=tuple(signature for report in stated for signature in report.signatures),
        prescription=merged(prescriptions) if PRESCRIBING & {one.kind for one, _ in reports} else None,
        skipped=tuple(dict.fromkeys([*(one for report in stated for one in report.skipped), *skipped])),
        tests=tuple(test for report in stated for test in report.tests),
        reused=tuple(one for report in stated for one in report.reused),
        partial=partial or any(report.partial for report in stated),
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
