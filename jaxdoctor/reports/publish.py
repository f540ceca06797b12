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
from jaxdoctor.workers.stdout import to_stdout

NEVER = "never"


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


def pair(formats: Sequence[str], outputs: Sequence[Path]) -> list[tuple[str, Path | None]]:
    """Which format goes where: the first `--format` into the first `--output`, and so on.

    A format without an output goes to stdout, and only one may. An output without a format takes the
    format that its suffix names.

    Raises:
        UsageError: two formats for stdout, or a suffix that names no format.
    """
    pairs: list[tuple[str, Path | None]] = list(zip(formats, outputs, strict=False))
    spare_formats, spare_outputs = formats[len(outputs) :], outputs[len(formats) :]
    if len(spare_formats) > 1:
        raise UsageError(
            f"{len(spare_formats)} formats are left for stdout: {', '.join(spare_formats)}",
            hint="give --output FILE for all but one of them",
        )
    pairs += [(name, None) for name in spare_formats]
    pairs += [(_by_suffix(path), path) for path in spare_outputs]
    return pairs or [("terminal", None)]


def _by_suffix(path: Path) -> str:
    for name in FORMATS.names():
        if FORMATS.load(name).suffix == path.suffix:
            return name
    raise UsageError(f"no format is known by the suffix of {path}", hint="name one with --format")


def require_writable(path: Path) -> None:
    """Says now, and not after an hour of work, that a report cannot be written there. Writes nothing.

    Raises:
        UsageError: it is a folder, its folder does not exist, or one may not write there.
    """
    if path.is_dir():
        raise _unwritable(path, "it is a folder")
    if not path.parent.is_dir():
        raise _unwritable(path, "its folder does not exist")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise _unwritable(path, "permission denied")


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
    report = replace(report, fail_on=least)
    for form, path in [(FORMATS.load(name), path) for name, path in pair(formats, outputs)]:
        if path is None:
            to_stdout(functools.partial(form.write, report))
            continue
        try:
            with path.open("w", encoding="utf-8", errors="backslashreplace") as out:
                form.write(report, out)
        except OSError as error:
            raise _unwritable(path, error.strerror or str(error)) from error
    return report.exit_code(least)
