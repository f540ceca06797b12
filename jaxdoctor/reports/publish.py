"""What becomes of a report: each chosen format into its file or onto stdout, then the exit code."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from jaxdoctor.errors import UnknownNameError, UsageError
from jaxdoctor.facts.finding import Severity
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.format import FORMATS
from jaxdoctor.reports.wording import worst_first
from jaxdoctor.workers.stdout import to_stdout

NEVER = "never"

STDOUT = Path("-")

BEGINNING = 4096
"""Bytes by which a file is told to be no text."""

Destination = tuple[str, Path | None]
"""A format's name and its file; None: stdout."""


def severity_named(name: str) -> Severity | None:
    """The severity that `--fail-on` names; None for "never".

    Raises:
        UnknownNameError: no severity is called so.
    """
    words = {severity.word: severity for severity in Severity}
    if name == NEVER:
        return None
    if name not in words:
        raise UnknownNameError("severity", name, [*words, NEVER])
    return words[name]


def pair(formats: Sequence[str], outputs: Sequence[Path]) -> list[Destination]:
    """Which format goes where: a file takes the format of its suffix, any other the next that is left.

    A format that no file takes goes to stdout, as does what is written to "-"; only one may.

    Raises:
        UsageError: two formats for stdout, a suffix that names no format, or one that names another.
    """
    left = list(formats)
    by_suffix = {path: _taken(path, left) for path in outputs if _suffix_format(path) is not None}
    pairs: list[Destination] = []
    for path in outputs:
        if path in by_suffix:
            pairs.append((by_suffix[path] or _suffix_format(path) or "", path))
        elif left:
            pairs.append((left.pop(0), None if path == STDOUT else path))
        elif path == STDOUT:
            pairs.append(("terminal", None))
        else:
            raise UsageError(f"no format is known by the suffix of {path}", hint="name one with --format")
    spare = [path for path, name in by_suffix.items() if name is None]
    if left and spare and _contradicts(left[0], formats, outputs):
        named = _suffix_format(spare[0])
        raise UsageError(
            f"--format {left[0]} contradicts --output {spare[0]}, which is {named} by its suffix",
            hint=f"leave --format out, or name the file {spare[0].stem}{FORMATS.load(left[0]).suffixes[0]}; "
            f"`--format {left[0]} --output -` writes to stdout",
        )
    pairs += [(name, None) for name in left]
    on_stdout = [name for name, path in pairs if path is None]
    if len(on_stdout) > 1:
        raise UsageError(
            f"{len(on_stdout)} formats are left for stdout: {', '.join(on_stdout)}",
            hint="give --output FILE for all but one of them",
        )
    return pairs or [("terminal", None)]


def _taken(path: Path, left: list[str]) -> str | None:
    """The first of the formats that may stand in a file of that suffix, taken out of them."""
    for name in left:
        if _fits(path, name):
            left.remove(name)
            return name
    return None


def _fits(path: Path, name: str) -> bool:
    form = FORMATS.load(name)
    return path.name.endswith((*form.suffixes, *form.accepts))


def _suffix_format(path: Path) -> str | None:
    """The format whose suffix a file has: of several the longest."""
    found = [
        (len(suffix), name)
        for name in FORMATS.names()
        for suffix in FORMATS.load(name).suffixes
        if path.name.endswith(suffix)
    ]
    return max(found)[1] if found else None


def _contradicts(name: str, formats: Sequence[str], outputs: Sequence[Path]) -> bool:
    """Whether a format that is left was meant for a file: one for logs may be for stdout."""
    if FORMATS.load(name).for_logs:
        return len(formats) == len(outputs)
    return len(formats) <= len(outputs)


def require_writable(path: Path) -> None:
    """Says now, and not after an hour of work, that a report cannot be written there. Writes nothing.

    Raises:
        UsageError: it is a folder or no text, its folder does not exist, or one may not write there.
    """
    if path == STDOUT:
        return
    if path.is_dir():
        raise _unwritable(path, "it is a folder")
    if path.is_file() and _is_binary(path):
        raise _unwritable(path, "it holds no text, so it is no earlier report")
    if not path.parent.is_dir():
        raise _unwritable(path, "its folder does not exist")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise _unwritable(path, "permission denied")


def _is_binary(path: Path) -> bool:
    """Whether a file begins as a checkpoint or a model does, and no report: with a NUL somewhere."""
    try:
        with path.open("rb") as file:
            return b"\0" in file.read(BEGINNING)
    except OSError:
        return False  # what is wrong with it is said when it is written


def _unwritable(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{path} cannot be written: {why}", hint="give --output a file in an existing folder that you own"
    )


def publish(report: Report, formats: Sequence[str], outputs: Sequence[Path], fail_on: str) -> int:
    """Writes the report in every chosen format and returns the exit code.

    Raises:
        UsageError: a format, a severity or an output cannot be used.
    """
    least = severity_named(fail_on)
    report = replace(report, fail_on=least, findings=worst_first(report.findings))
    for name, path in pair(formats, outputs):
        write(report, name, path)
    return report.exit_code(least)


def write(report: Report, name: str, path: Path | None) -> None:
    """Writes the report in one format, to stdout where there is no path.

    Raises:
        UsageError: the file cannot be written.
    """
    form = FORMATS.load(name)
    if path is None:
        to_stdout(functools.partial(form.write, report))
        return
    try:
        with path.open("w", encoding="utf-8", errors="backslashreplace") as out:
            form.write(replace(report, in_full=True), out)
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from error
