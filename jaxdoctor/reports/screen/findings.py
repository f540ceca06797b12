"""Findings, what was set aside, what was not examined, and what to set."""

from __future__ import annotations

from rich.console import Console

from jaxdoctor.facts.finding import Finding
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.text import clean, counted, shortened
from jaxdoctor.prescriptions.writers import write_python
from jaxdoctor.reports.screen.lines import STYLES, say
from jaxdoctor.reports.wording import place, statistics, summary, tally

MOST_FINDINGS = 50
"""A terminal shows so many and counts the rest; files hold all of them."""

MOST_SKIPPED = 20

MOST_LETTERS = 300
"""A leaf's path that is longer is cut in its middle."""


def draw(report: Report, console: Console) -> None:
    """Worst first within the order that the rules gave, then what stands beside them."""
    _findings(report, console)
    _ignored(report, console)
    _skipped(report, console)
    _prescription(report, console)
    console.print()
    _closing(report, console)


def _findings(report: Report, console: Console) -> None:
    ordered = sorted(report.findings, key=lambda finding: -finding.severity)
    if ordered:
        console.print()
    if report.statistics:
        for one, number in statistics(report.findings):
            severity = (f"{one.severity.word:9}", STYLES[one.severity])
            say(console, f"{number:>6,}  ", (f"{one.code}  ", "bold"), severity, one.name)
        return
    for finding in ordered[:MOST_FINDINGS]:
        _finding(finding, console)
    if len(ordered) > MOST_FINDINGS:
        rest = tally(ordered[MOST_FINDINGS:])
        say(console, (f"and {rest} more; --output FILE holds all of them", "dim"))


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
    for ignored in report.ignored[:MOST_SKIPPED]:
        finding = ignored.finding
        where = place(finding.location)
        line = f"{finding.code} {finding.name} {where}".rstrip()
        say(console, ("ignored ", "dim"), line, (f" ({ignored.reason})", "dim"))
    _more(len(report.ignored) - MOST_SKIPPED, "finding", "ignored", console)


def _skipped(report: Report, console: Console) -> None:
    for skipped in report.skipped[:MOST_SKIPPED]:
        say(console, ("not examined ", "yellow"), f"{skipped.subject}: {skipped.reason}")
    _more(len(report.skipped) - MOST_SKIPPED, "subject", "not examined", console)
    for subject, reason in report.allowed.items():
        say(console, ("may stay unknown ", "dim"), subject, (f" ({reason})", "dim"))
    for reused in report.reused[:MOST_SKIPPED]:
        say(console, ("unchanged ", "dim"), f"{reused.subject}: its result is that of {reused.when}")
    _more(len(report.reused) - MOST_SKIPPED, "subject", "unchanged", console)


def _more(number: int, noun: str, what: str, console: Console) -> None:
    if number > 0:
        say(console, (f"and {counted(number, noun)} more {what}", "dim"))


def _prescription(report: Report, console: Console) -> None:
    if report.prescription is None:
        return
    console.print()
    for line in write_python(report.prescription).splitlines():
        say(console, (line, "dim" if line.startswith("#") else "bold"))


def _closing(report: Report, console: Console) -> None:
    words = summary(report)
    if report.findings:
        words += "; `jaxdoctor rule CODE` explains each"
    say(console, (words, "bold"))
