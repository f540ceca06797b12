"""Which findings count: what a configuration selects, weighs and ignores, and what a baseline knows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from jaxdoctor.config.settings import Config, Waiver, matches
from jaxdoctor.errors import ConfigError, UsageError
from jaxdoctor.facts.finding import Finding, Ignored, Severity
from jaxdoctor.facts.report import Report
from jaxdoctor.fingerprint import fingerprint, relative

SCHEMA = "jaxdoctor.baseline/1"
KNOWN = "in the baseline {path}"


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


def baseline(findings: Iterable[Finding]) -> str:
    """The findings as a file that a later run compares with."""
    entries = [
        {
            "fingerprint": fingerprint(finding),
            "code": finding.code,
            "name": finding.name,
            "path": relative(finding.location.path),
            "leaf": finding.location.leaf,
            "message": finding.message,
        }
        for finding in findings
    ]
    ordered = sorted(entries, key=lambda entry: (entry["code"], entry["path"] or "", entry["fingerprint"]))
    return json.dumps({"schema": SCHEMA, "findings": ordered}, indent=2) + "\n"


def known_fingerprints(path: Path) -> Counter[str]:
    """The fingerprints in a baseline, each as often as it stands there.

    Raises:
        ConfigError: it is no baseline of this schema.
    """
    again = "write it anew with --write-baseline"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"the baseline {path} cannot be read: {error.strerror}", hint=again) from error
    except ValueError as error:
        raise ConfigError(f"the baseline {path} is no JSON: {error}", hint=again) from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise ConfigError(f"the baseline {path} has the schema {schema!r}, not {SCHEMA!r}", hint=again)
    try:
        return Counter(str(entry["fingerprint"]) for entry in document["findings"])
    except (KeyError, TypeError) as error:
        raise ConfigError(f"the baseline {path} has an entry without a fingerprint", hint=again) from error


def against(report: Report, path: Path) -> Report:
    """The report with only the findings that the baseline does not know; the known ones are set aside."""
    left = known_fingerprints(path)
    new: list[Finding] = []
    ignored = list(report.ignored)
    for finding in report.findings:
        mark = fingerprint(finding)
        if left[mark] > 0:
            left[mark] -= 1
            ignored.append(Ignored(finding, KNOWN.format(path=path)))
        else:
            new.append(finding)
    return replace(report, findings=tuple(new), ignored=tuple(ignored))


def write_baseline(report: Report, path: Path) -> None:
    """Writes today's findings, also those that an earlier baseline knew.

    Raises:
        UsageError: the file cannot be written.
    """
    earlier = (one.finding for one in report.ignored if one.reason.startswith(KNOWN.partition("{")[0]))
    try:
        path.write_text(baseline([*report.findings, *earlier]), encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}",
            hint="give --write-baseline a file in an existing folder that you own",
        ) from error
