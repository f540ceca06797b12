"""A baseline: the findings that were there already, as a file that a later run compares with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from jaxdoctor.errors import ConfigError, UsageError
from jaxdoctor.facts.finding import Finding, Ignored
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.fingerprint import fingerprint, relative

SCHEMA = "jaxdoctor.baseline/1"


KNOWN = "in the baseline {path}"


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
