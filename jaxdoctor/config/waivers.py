"""Which findings count: what a configuration selects, weighs and ignores, and what a baseline knows."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase

from jaxdoctor.config.settings import Config, Waiver, matches
from jaxdoctor.facts.finding import Finding, Ignored, Severity
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.fingerprint import relative


def weighed(report: Report, config: Config) -> Report:
    """The report with the findings that are selected, as severe as configured; the ignored set aside."""
    counted: list[Finding] = []
    ignored = list(report.ignored)
    for finding in report.findings:
        if config.select and not any(matches(word, finding.code, finding.name) for word in config.select):
            continue
        finding = _weighed(finding, config)  # noqa: PLW2901 (the same finding, as severe as the user says)
        waiver = next((one for one in config.ignore if _covers(one, finding)), None)
        if waiver is None:
            counted.append(finding)
        else:
            ignored.append(Ignored(finding, waiver.reason))
    return replace(report, findings=tuple(counted), ignored=tuple(ignored))


def _weighed(finding: Finding, config: Config) -> Finding:
    # The last word wins, so that `JD3: note` can stand before `JD301: error`.
    for word, severity in config.severity.items():
        if matches(word, finding.code, finding.name):
            finding = replace(finding, severity=Severity[severity.upper()])
    return finding


def _covers(waiver: Waiver, finding: Finding) -> bool:
    return (
        matches(waiver.rule, finding.code, finding.name)
        and _fits(waiver.path, relative(finding.location.path))
        and _fits(waiver.leaf, finding.location.leaf)
    )


def _fits(pattern: str | None, value: str | None) -> bool:
    return pattern is None or (value is not None and fnmatchcase(value, pattern))
