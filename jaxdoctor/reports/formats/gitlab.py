"""For GitLab's merge requests: a code quality report.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

from jaxdoctor.facts.finding import Finding, Severity
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.text import clean
from jaxdoctor.reports.fingerprint import fingerprint
from jaxdoctor.reports.format import Format
from jaxdoctor.reports.wording import summary, test_line

SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}
"""Of GitLab's info, minor, major, critical and blocker."""


def _write(report: Report, out: TextIO) -> None:
    json.dump([*_issues(report)], out, indent=2, ensure_ascii=True)
    out.write("\n")


def _issues(report: Report) -> Iterator[dict[str, Any]]:
    seen: dict[str, int] = {}
    for finding in report.findings:
        mark = fingerprint(finding)
        seen[mark] = seen.get(mark, 0) + 1
        # GitLab drops an issue whose fingerprint it has seen already.
        yield _issue(finding, report, mark if seen[mark] == 1 else f"{mark}-{seen[mark]}")
    for test in report.tests:
        if test.passed is False:
            yield {
                "description": clean(test_line(test)),
                "check_name": f"node-{test.name}",
                "fingerprint": f"node-{test.name}",
                "severity": "critical",
                "location": {"path": report.configuration_file or ".", "lines": {"begin": 1}},
            }
    if report.unexamined:
        yield {
            "description": clean(f"{summary(report)}: {_named(report)}"),
            "check_name": "not-examined",
            "fingerprint": "not-examined",
            "severity": "critical" if report.unjudged else "minor",
            "location": {"path": report.configuration_file or ".", "lines": {"begin": 1}},
        }


def _named(report: Report) -> str:
    return "; ".join(f"{one.subject}: {one.reason}" for one in report.unexamined)


def _issue(finding: Finding, report: Report, mark: str) -> dict[str, Any]:
    where = finding.location
    named = "" if where.file is not None or where.path is None else f"{where.path}: "
    leaf = f"{where.leaf}: " if where.leaf else ""
    fix = f" ({finding.fix})" if finding.fix else ""
    return {
        "description": clean(f"{finding.code} {named}{leaf}{finding.message}{fix}"),
        "check_name": finding.name,
        "fingerprint": mark,
        "severity": SEVERITIES[finding.severity],
        "location": {
            # GitLab refuses an issue without a path.
            "path": clean(where.file or report.configuration_file or "."),
            "lines": {"begin": (where.line if where.file is not None else None) or 1},
        },
    }


FORMAT = Format(write=_write, suffixes=(".gitlab.json",), accepts=(".json",))
