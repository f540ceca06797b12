"""Which findings count: what is selected, weighed and ignored, and which subjects may stay unknown."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase

from jaxdoctor.config.settings import HOSTILE, Config, Waiver, matches, names_a_place
from jaxdoctor.facts.finding import Finding, Ignored, Severity
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.fingerprint import Folders, folders, name_from


def weighed(report: Report, config: Config) -> Report:
    """The report with the findings that are selected, as severe as configured; the ignored set aside."""
    where = folders(config.path)
    counted: list[Finding] = []
    used: set[Waiver] = set()
    ignored = list(report.ignored)
    for finding in report.findings:
        if not _selected(finding, config):
            continue
        finding = _weighed(finding, config)  # noqa: PLW2901 (the same finding, as severe as the user says)
        waiver = next((one for one in config.ignore if _covers(one, finding, where)), None)
        if waiver is None:
            counted.append(finding)
        else:
            used.add(waiver)
            ignored.append(Ignored(finding, waiver.reason))
    # One command sees a part of a project, so that only preflight can say that an entry is idle.
    whole = report.command == "preflight" or config.path is None
    idle = tuple(_named(one) for one in config.ignore if whole and one not in used)
    return replace(
        report,
        findings=tuple(counted),
        ignored=tuple(ignored),
        idle_ignores=tuple(dict.fromkeys((*report.idle_ignores, *idle))),
        allowed=_allowed(report, config, where),
        strict=config.strict,
        configured=None if config.path is None else str(config.path),
    )


def _named(waiver: Waiver) -> str:
    """As the command line writes it: "JD304:runs/*"."""
    return ":".join(part for part in (waiver.rule, waiver.path, waiver.leaf) if part)


def is_hostile(finding: Finding) -> bool:
    """Whether it says that a file may attack whoever loads it."""
    return (finding.code, finding.name) == HOSTILE


def _selected(finding: Finding, config: Config) -> bool:
    if not config.select or is_hostile(finding):
        return True
    return any(matches(word, finding.code, finding.name) for word in config.select)


def _weighed(finding: Finding, config: Config) -> Finding:
    if is_hostile(finding):
        return finding
    # The last word wins, so that `JD3: note` can stand before `JD301: error`.
    for word, severity in config.severity.items():
        if matches(word, finding.code, finding.name):
            finding = replace(finding, severity=Severity[severity.upper()])
    return finding


def _covers(waiver: Waiver, finding: Finding, where: Folders) -> bool:
    if is_hostile(finding) and not names_a_place(waiver.path):
        return False
    return (
        matches(waiver.rule, finding.code, finding.name)
        and _fits(waiver.path, name_from(where.base, finding.location.path))
        and _fits(waiver.leaf, finding.location.leaf)
    )


def _fits(pattern: str | None, value: str | None) -> bool:
    """Whether a pattern means the value, or a folder above it."""
    if pattern is None:
        return True
    plain = pattern.removeprefix("./").rstrip("/")
    return value is not None and (fnmatchcase(value, plain) or fnmatchcase(value, f"{plain}/*"))


def _allowed(report: Report, config: Config, where: Folders) -> dict[str, str]:
    """Subjects without a result that may be so, as the report names them or from the base on."""
    found: dict[str, str] = {}
    for one in report.unexamined:
        names = {one.subject, name_from(where.base, one.subject) or ""}
        for entry in config.allow_unknown:
            if any(fnmatchcase(name, entry.subject) for name in names):
                found.setdefault(one.subject, entry.reason)
    return found
