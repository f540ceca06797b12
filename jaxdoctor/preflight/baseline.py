"""A baseline: the findings that were there already, as a file that a later run compares with."""

from __future__ import annotations

import json
import os
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
from jaxdoctor.reports.fingerprint import Folders, fingerprint, folders, name_from, repository

SCHEMA = "jaxdoctor.baseline/2"

OLD = "jaxdoctor.baseline/1"
"""Its fingerprints held paths as seen from the working folder."""

KNOWN = "in the baseline {path}"


def baseline(findings: Iterable[Finding], where: Folders, place: Mapping[str, str] | None = None) -> str:
    """The findings as a file that a later run compares with.

    Args:
        findings: what is known from now on.
        where: where their names start from.
        place: the project whose findings they are, as `_project` tells it; None: any.
    """
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
    return json.dumps({"schema": SCHEMA, **(place or {}), "findings": ordered}, indent=2) + "\n"


def _project(path: Path, where: Folders) -> dict[str, str]:
    """The folder that names start from, as seen from the repository's root and from the baseline's folder.

    Projects of one repository have runs of the same names, and a baseline of one must not excuse another's.
    """
    top = repository(where.base)
    inside = {} if top is None else {"project": where.base.relative_to(top).as_posix()}
    return {**inside, "beside": Path(os.path.relpath(where.base, path.absolute().parent)).as_posix()}


def _is_of(document: Mapping[str, Any], path: Path, where: Folders) -> bool:
    """Whether a baseline is of this project. Without a repository, the way from the file to it decides."""
    now = _project(path, where)
    name = "project" if "project" in now and "project" in document else "beside"
    return bool(document.get(name, now[name]) == now[name])


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
    if not _is_of(document, path, folders(configuration)):
        other = document.get("project", document.get("beside"))
        raise ConfigError(
            f"the baseline {path} is of the project in {other!r}, and this is another one",
            hint=f"give this project one of its own: {_command(Path('FILE'), configuration)}",
        )
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
    where = folders(configuration)
    text = baseline([*report.findings, *earlier], where, _project(path, where))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}",
            hint="give --write-baseline a file in an existing folder that you own",
        ) from error
