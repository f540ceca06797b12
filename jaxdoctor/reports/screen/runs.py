"""Many runs in one line each: ill ones first, healthy ones counted."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Finding, Severity
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.series import Series
from jaxdoctor.facts.text import counted, cut_left
from jaxdoctor.reports.screen.lines import STYLES, say, table
from jaxdoctor.reports.wording import DASH, tally

MANY = 4
"""Runs from which on each has one line, and only those that are ill have details."""

MOST_RUNS = 20
"""Ill runs that a terminal shows."""


@dataclass(frozen=True)
class Run:
    """A series, or a checkpoint that stands alone, with what was found in it."""

    path: str
    checkpoints: tuple[Checkpoint, ...]
    series: Series | None
    findings: tuple[Finding, ...] = ()

    @property
    def worst(self) -> Severity | None:
        """The highest severity in it."""
        return max((finding.severity for finding in self.findings), default=None)

    @property
    def ill(self) -> bool:
        """Whether something was found that is worse than a note."""
        return self.worst is not None and self.worst > Severity.NOTE


def runs_of(report: Report) -> list[Run]:
    """The runs of a report, in its order, each with the findings at or below its checkpoints."""
    owners: dict[str, int] = {}
    members: list[tuple[str, tuple[Checkpoint, ...], Series | None]] = []
    in_series = {saved.path for series in report.series for saved in series.checkpoints}
    alone = [(saved.path, (saved,), None) for saved in report.checkpoints if saved.path not in in_series]
    for path, checkpoints, series in [*((one.path, one.checkpoints, one) for one in report.series), *alone]:
        owners |= {saved.path: len(members) for saved in checkpoints}
        members.append((path, checkpoints, series))
    found: list[list[Finding]] = [[] for _ in members]
    paths = sorted(owners)
    for finding in report.findings:
        owner = _owner(finding.location.path, owners, paths)
        if owner is not None:
            found[owner].append(finding)
    return [Run(*member, tuple(findings)) for member, findings in zip(members, found, strict=True)]


def _owner(path: str | None, owners: dict[str, int], paths: Sequence[str]) -> int | None:
    """The run of the checkpoint at that path, or around it."""
    if path is None:
        return None
    if path in owners:
        return owners[path]
    before = bisect.bisect(paths, path) - 1
    if before >= 0 and path.startswith(paths[before].rstrip("/") + "/"):
        return owners[paths[before]]
    return None


def reach(series: Series) -> str:
    """The first and the last step, and how fast they went: ", steps 100 to 300, 40 a second"."""
    steps = [saved.step for saved in series.checkpoints if saved.step is not None]
    from_to = f", steps {steps[0]:,} to {steps[-1]:,}" if steps else ""
    if series.rate is None:
        return from_to
    digits = ",.3g" if series.rate < 1 else ",.0f"
    return f"{from_to}, {series.rate:{digits}} a second"


def draw_overview(runs: Sequence[Run], console: Console, *, in_full: bool) -> None:
    """One line a run: the worst first, then how many are healthy."""
    ill = sorted((run for run in runs if run.ill), key=lambda run: -(run.worst or 0))
    shown = sorted(runs, key=lambda run: -(run.worst or 0)) if in_full else ill[:MOST_RUNS]
    if shown:
        headings = ("run", "format", "checkpoints", "steps", "found")
        table(console, headings, [_row(run, console) for run in shown], numbers="llrl")
    if in_full:
        return
    if len(ill) > len(shown):
        more = counted(len(ill) - len(shown), "more run")
        say(console, f"{more} with findings; --output FILE holds all of them")
    if len(ill) < len(runs):
        healthy(runs, console)


def healthy(runs: Sequence[Run], console: Console) -> None:
    """How many of many runs are healthy."""
    good = [run for run in runs if not run.ill]
    alone = all(run.series is None for run in runs)
    number = counted(len(good), "checkpoint" if alone else "run")
    holding = "" if alone else f" ({counted(sum(len(run.checkpoints) for run in good), 'checkpoint')})"
    verb = "is" if len(good) == 1 else "are"
    say(console, (number, "bold"), f" of {len(runs):,} {verb} healthy{holding}")


def _row(run: Run, console: Console) -> tuple[str | Text, ...]:
    steps = [saved.step for saved in run.checkpoints if saved.step is not None]
    reach = DASH if not steps else f"{steps[0]:,}" if len(steps) == 1 else f"{steps[0]:,} to {steps[-1]:,}"
    found = Text(tally(run.findings), "" if run.worst is None else STYLES[run.worst])
    path = cut_left(run.path, max(console.width // 2, 20))
    return path, run.checkpoints[0].format, f"{len(run.checkpoints):,}", reach, found
