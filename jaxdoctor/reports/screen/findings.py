"""Findings, what was set aside, what was not examined, and what to set."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from rich.console import Console

from jaxdoctor.facts.finding import Finding
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.text import clean, counted, shortened
from jaxdoctor.prescriptions.writers import write_python
from jaxdoctor.reports.screen.lines import STYLES, say
from jaxdoctor.reports.wording import place, statistics, summary, tally

MOST_FINDINGS = 50
"""A terminal shows so many and counts the rest; files hold all of them."""

MOST_OF_A_KIND = 12
"""Of one rule about one subject."""

MOST_SKIPPED = 20

MOST_LETTERS = 300
"""A leaf's path that is longer is cut in its middle."""


def draw(report: Report, console: Console) -> None:
    """Worst first within the order that the rules gave, then what stands beside them."""
    found(report, console)
    prescribed(report, console)
    closing(report, console)


def found(report: Report, console: Console) -> None:
    """Findings, and what was set aside or not examined."""
    _findings(report, console)
    _ignored(report, console)
    _skipped(report, console)


def _findings(report: Report, console: Console) -> None:
    ordered = sorted(report.findings, key=lambda finding: -finding.severity)
    if ordered:
        console.print()
    if report.statistics:
        for one, number in statistics(report.findings):
            severity = (f"{one.severity.word:9}", STYLES[one.severity])
            say(console, f"{number:>6,}  ", (f"{one.code}  ", "bold"), severity, one.name)
        return
    shown = ordered if report.in_full else _within_bounds(ordered)
    for finding in shown:
        _finding(finding, console)
    if len(ordered) > len(shown):
        kept = set(map(id, shown))
        rest = tally([finding for finding in ordered if id(finding) not in kept])
        say(console, (f"and {rest} more; --output FILE holds all of them", "dim"))


def _within_bounds(ordered: Sequence[Finding]) -> list[Finding]:
    """The first of each kind, and of all of them."""
    counts: Counter[object] = Counter()
    shown = []
    for finding in ordered:
        kind = finding.code, finding.location.path, finding.severity
        counts[kind] += 1
        if counts[kind] <= MOST_OF_A_KIND:
            shown.append(finding)
    return shown[:MOST_FINDINGS]


def _finding(finding: Finding, console: Console) -> None:
    say(
        console,
        (f"{finding.code} ", "bold"),
        (finding.severity.word, STYLES[finding.severity]),
        f" {finding.name}: {finding.message}",
    )
    where = shortened(clean(place(finding.location)), MOST_LETTERS)
    if where:
        say(console, "    at ", where)
    if finding.fix:
        say(console, "    fix: ", finding.fix)


def _ignored(report: Report, console: Console) -> None:
    most = _most(report)
    for ignored in report.ignored[:most]:
        finding = ignored.finding
        where = place(finding.location)
        line = f"{finding.code} {finding.name} {where}".rstrip()
        say(console, ("ignored ", "dim"), line, (f" ({ignored.reason})", "dim"))
    _more(len(report.ignored) - most, "finding", "ignored", console)


def _skipped(report: Report, console: Console) -> None:
    most = _most(report)
    for skipped in report.skipped[:most]:
        say(console, ("not examined ", "yellow"), f"{skipped.subject}: {skipped.reason}")
    _more(len(report.skipped) - most, "subject", "not examined", console)
    for subject, reason in report.allowed.items():
        say(console, ("may stay unknown ", "dim"), subject, (f" ({reason})", "dim"))
    for reused in report.reused[:most]:
        say(console, ("unchanged ", "dim"), f"{reused.subject}: its result is that of {reused.when}")
    _more(len(report.reused) - most, "subject", "unchanged", console)


def _most(report: Report) -> int:
    """How many of those beside the findings are shown."""
    return sys.maxsize if report.in_full else MOST_SKIPPED


def _more(number: int, noun: str, what: str, console: Console) -> None:
    if number > 0:
        say(console, (f"and {counted(number, noun)} more {what}", "dim"))


def prescribed(report: Report, console: Console) -> None:
    """What to set, as Python."""
    if report.prescription is None:
        return
    console.print()
    for line in write_python(report.prescription).splitlines():
        say(console, (line, "dim" if line.startswith("#") else "bold"))


def closing(report: Report, console: Console) -> None:
    """The report in one line."""
    console.print()
    words = summary(report)
    if report.findings:
        words += "; `jaxdoctor rule CODE` explains each"
    say(console, (words, "bold"))
