"""For editors and logs: one line a finding, as "path:line: JD301 error name: message"."""

from __future__ import annotations

from typing import TextIO

from jaxdoctor.facts.finding import Finding
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.text import clean
from jaxdoctor.reports.format import Format
from jaxdoctor.reports.wording import headline, inert, place, replayable, statistics, summary, test_line


def _write(report: Report, out: TextIO) -> None:
    if report.statistics:
        rows = statistics(report.findings)
        out.writelines(f"{number} {one.code} {one.severity.word} {one.name}\n" for one, number in rows)
    else:
        out.writelines(f"{inert(clean(_line(finding)))}\n" for finding in report.findings)
    out.writelines(f"{inert(clean(test_line(test)))}\n" for test in report.tests)
    left = (f"{skipped.subject}: not examined: {skipped.reason}" for skipped in report.unexamined)
    out.writelines(f"{inert(clean(line))}\n" for line in left)
    if (line := replayable(report)) is not None:
        out.write(f"{inert(clean(line))}\n")
    out.write(f"{inert(clean(summary(report)))}\n")


def _line(finding: Finding) -> str:
    where = place(finding.location)
    return f"{where}: {headline(finding)}" if where else headline(finding)


FORMAT = Format(write=_write, suffixes=(".concise",), accepts=(".txt", ".log"), for_logs=True)
