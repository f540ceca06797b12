"""A baseline: the findings that were there already, as a file that a later run compares with."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from jaxdoctor.config.waivers import is_hostile
from jaxdoctor.errors import ConfigError, UsageError
from jaxdoctor.facts.finding import Finding, Ignored
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.fingerprint import Folders, fingerprint, folders, name_from

SCHEMA = "jaxdoctor.baseline/2"

OLD = "jaxdoctor.baseline/1"
"""Its fingerprints held paths as seen from the working folder."""

KNOWN = "in the baseline {path}"


def baseline(findings: Iterable[Finding], where: Folders) -> str:
    """The findings as a file that a later run compares with."""
    entries = [
        {
            "fingerprint": fingerprint(finding),
            "content": finding.content,
            "code": finding.code,
            "name": finding.name,
            "path": name_from(where.base, finding.location.path),
            "leaf": finding.location.leaf,
            "message": finding.message,
        }
        for finding in findings
    ]
    ordered = sorted(entries, key=lambda entry: (entry["code"], entry["path"] or "", entry["fingerprint"]))
    return json.dumps({"schema": SCHEMA, "findings": ordered}, indent=2) + "\n"


class _Left:
    """The entries of a baseline that no finding was matched with yet."""

    def __init__(self, entries: Iterable[Mapping[str, Any]]) -> None:
        self.entries = list(entries)
        self.places = Counter(str(entry["fingerprint"]) for entry in self.entries)
        self.contents = Counter(str(entry["content"]) for entry in self.entries if entry.get("content"))

    def by_place(self, finding: Finding) -> bool:
        """Whether an entry has the finding's place; it is then used up."""
        mark = fingerprint(finding)
        if self.places[mark] < 1:
            return False
        self.places[mark] -= 1
        if finding.content is not None:
            self.contents[finding.content] -= 1
        return True

    def by_content(self, finding: Finding) -> bool:
        """Whether an entry has the same content at another place: the file has moved."""
        if finding.content is None or self.contents[finding.content] < 1:
            return False
        self.contents[finding.content] -= 1
        return True


def known(path: Path, configuration: Path | None) -> _Left:
    """What a baseline holds.

    Raises:
        ConfigError: it is no baseline of this schema.
    """
    again = f"write it anew: {_command(path, configuration)}"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"the baseline {path} cannot be read: {error.strerror}", hint=again) from error
    except ValueError as error:
        raise ConfigError(f"the baseline {path} is no JSON: {error}", hint=again) from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema == OLD:
        raise ConfigError(
            f"the baseline {path} is of the schema {OLD!r}, whose fingerprints hold the working folder",
            hint=again,
        )
    if schema != SCHEMA:
        raise ConfigError(f"the baseline {path} has the schema {schema!r}, not {SCHEMA!r}", hint=again)
    try:
        return _Left(document["findings"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"the baseline {path} has an entry without a fingerprint", hint=again) from error


def _command(path: Path, configuration: Path | None) -> str:
    named = f" --config {shlex.quote(str(configuration))}" if configuration is not None else ""
    return f"jaxdoctor preflight{named} --write-baseline {shlex.quote(str(path))}"


def against(report: Report, path: Path, configuration: Path | None = None) -> Report:
    """The report with only the findings that the baseline does not know; the known ones are set aside.

    What may attack whoever loads it is never known: it is ignored only with a path and a reason.
    """
    left = known(path, configuration)
    # First by place, so that a moved file does not take the entry of one that stayed.
    old = {index for index, one in enumerate(report.findings) if not is_hostile(one) and left.by_place(one)}
    old |= {
        index
        for index, one in enumerate(report.findings)
        if index not in old and not is_hostile(one) and left.by_content(one)
    }
    reason = KNOWN.format(path=path)
    return replace(
        report,
        findings=tuple(one for index, one in enumerate(report.findings) if index not in old),
        ignored=(*report.ignored, *(Ignored(report.findings[index], reason) for index in sorted(old))),
    )


def write_baseline(report: Report, path: Path, configuration: Path | None = None) -> None:
    """Writes today's findings, also those that an earlier baseline knew.

    Raises:
        UsageError: the file cannot be written.
    """
    earlier = (one.finding for one in report.ignored if one.reason.startswith(KNOWN.partition("{")[0]))
    text = baseline([*report.findings, *earlier], folders(configuration))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}",
            hint="give --write-baseline a file in an existing folder that you own",
        ) from error
