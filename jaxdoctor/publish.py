"""What becomes of a report: each chosen format into its file or onto stdout, then the exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from jaxdoctor.errors import UnknownNameError, UsageError
from jaxdoctor.finding import Severity
from jaxdoctor.format import FORMATS
from jaxdoctor.report import Report

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


def publish(report: Report, formats: Sequence[str], outputs: Sequence[Path], fail_on: str) -> int:
    """Writes the report in every chosen format and returns the exit code.

    Raises:
        UsageError: a format, a severity or an output cannot be used.
    """
    least = severity_named(fail_on)
    chosen = [(FORMATS.load(name), path) for name, path in pair(formats, outputs)]
    for form, path in chosen:
        if path is None:
            form.write(report, sys.stdout)
            continue
        try:
            with path.open("w", encoding="utf-8") as out:
                form.write(report, out)
        except OSError as error:
            raise UsageError(
                f"{path} cannot be written: {error.strerror}",
                hint="give --output a file in a folder that you own",
            ) from error
    return report.exit_code(least)
