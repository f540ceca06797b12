"""What stands beside the findings: ignored, not examined, unchanged."""

from __future__ import annotations

import sys

from rich.console import Console

from jaxdoctor.facts.report import Report
from jaxdoctor.facts.text import counted
from jaxdoctor.reports.screen.lines import CAUTION, say
from jaxdoctor.reports.wording import place, replayable

MOST_SKIPPED = 20


def draw(report: Report, console: Console) -> None:
    """One line for each, the first ones of many."""
    _ignored(report, console)
    _skipped(report, console)
    if (line := replayable(report)) is not None:
        say(console, line)


def _ignored(report: Report, console: Console) -> None:
    most = _most(report)
    for ignored in report.ignored[:most]:
        finding = ignored.finding
        where = place(finding.location)
        line = f"{finding.code} {finding.name} {where}".rstrip()
        say(console, "ignored ", line, f" ({ignored.reason})")
    _more(len(report.ignored) - most, "finding", "ignored", console)
    for idle in report.idle_ignores[:most]:
        say(console, f"ignore {idle}: no finding fits it, it can go")
    for idle in report.idle_allowances[:most]:
        say(console, f"allow-unknown {idle}: nothing here is named so, it can go")


def _skipped(report: Report, console: Console) -> None:
    most = _most(report)
    for skipped in report.skipped[:most]:
        say(console, ("not examined", CAUTION), f" {skipped.subject}: {skipped.reason}")
    _more(len(report.skipped) - most, "subject", "not examined", console)
    for subject, reason in report.allowed.items():
        say(console, "may stay unknown ", subject, f" ({reason})")
    for reused in report.reused[:most]:
        say(console, f"{reused.subject}: unchanged, its result of {reused.when} is reused")
    _more(len(report.reused) - most, "subject", "unchanged", console)


def _most(report: Report) -> int:
    """How many of those beside the findings are shown."""
    return sys.maxsize if report.in_full else MOST_SKIPPED


def _more(number: int, noun: str, what: str, console: Console) -> None:
    if number > 0:
        say(console, f"and {counted(number, noun)} more {what}")
