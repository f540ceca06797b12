"""For workflow logs: GitHub's annotations, and the step's summary where GitHub names a file for it.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from jaxdoctor.facts.finding import Finding, Severity
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.text import clean, shortened
from jaxdoctor.reports.format import Format
from jaxdoctor.reports.markdown import markdown
from jaxdoctor.reports.wording import place, replayable, summary, test_line

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
SUMMARY = "GITHUB_STEP_SUMMARY"
MOST_LETTERS = 4000
"""Of one annotation: GitHub cuts at 4,096."""

MOST_BYTES = 1_000_000
"""Of a step's summary: GitHub refuses more than 1 MiB."""


def _write(report: Report, out: TextIO) -> None:
    out.writelines(f"{line}\n" for line in _commands(report))
    out.write(f"{_message(summary(report))}\n")
    file_of_step = os.environ.get(SUMMARY)
    if file_of_step:
        with Path(file_of_step).open("a", encoding="utf-8") as file:
            file.write(_fitting(markdown(report)))


def _commands(report: Report) -> Iterator[str]:
    yield from map(_annotation, report.findings)
    for test in report.tests:
        command = {True: "", False: "::error title=node::", None: "::warning title=node::"}[test.passed]
        yield f"{command}{_message(test_line(test))}"
    unjudged = set(report.unjudged)
    for skipped in report.unexamined:
        command = "error" if skipped in unjudged else "warning"
        yield f"::{command} title=not examined::{_message(f'{skipped.subject}: {skipped.reason}')}"
    for ignored in report.ignored:
        finding = ignored.finding
        yield _message(f"ignored {finding.code} {finding.name} {place(finding.location)}: {ignored.reason}")
    if (line := replayable(report)) is not None:
        yield _message(line)
    if report.partial:
        yield "::warning title=interrupted::partial report"


def _fitting(text: str) -> str:
    if len(text.encode()) <= MOST_BYTES:
        return text
    cut = text.encode()[:MOST_BYTES].decode(errors="ignore").rpartition("\n")[0]
    return f"{cut}\n\nThe report is longer than a step's summary may be.\n"


def _annotation(finding: Finding) -> str:
    where = finding.location
    properties = {
        "file": where.file,
        "line": None if where.file is None else where.line,
        "title": f"{finding.code} {finding.name}",
    }
    stated = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value is not None)
    named = "" if where.file is not None or where.path is None else f"{where.path}: "
    leaf = f"{named}{where.leaf}: " if where.leaf else named
    fix = f" ({finding.fix})" if finding.fix else ""
    return f"::{COMMANDS[finding.severity]} {stated}::{_message(f'{leaf}{finding.message}{fix}')}"


def _message(value: str) -> str:
    """GitHub ends a command at a line break, and decodes these three again."""
    text = shortened(clean(value), MOST_LETTERS)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: object) -> str:
    """In a property, a colon and a comma end it too."""
    return _message(str(value)).replace(":", "%3A").replace(",", "%2C")


FORMAT = Format(write=_write, suffixes=(".github",), accepts=(".txt", ".log"), for_logs=True)
