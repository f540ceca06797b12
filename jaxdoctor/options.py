"""Options that several commands share, each said once and checked before any work is done."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jaxdoctor.facts.finding import Severity
from jaxdoctor.reports.format import FORMATS
from jaxdoctor.reports.publish import NEVER, require_writable, severity_named
from jaxdoctor.rules.rule import RULES
from jaxdoctor.workers.log import listen


def complete_rule(incomplete: str) -> list[str]:
    """Names of rules for the shell, and codes once a J is typed."""
    if incomplete.lower().startswith("jd"):
        return sorted(rule.code for rule in RULES.load_all() if rule.code.startswith(incomplete.upper()))
    return [name for name in RULES.names() if name.startswith(incomplete)]


def _complete_format(incomplete: str) -> list[str]:
    return [name for name in FORMATS.names() if name.startswith(incomplete)]


def _complete_severity(incomplete: str) -> list[str]:
    words = [*(severity.word for severity in Severity), NEVER]
    return [word for word in words if word.startswith(incomplete)]


def _known_formats(names: list[str] | None) -> list[str] | None:
    for name in names or ():
        FORMATS.load(name)
    return names


def _writable(paths: list[Path] | None) -> list[Path] | None:
    for path in paths or ():
        require_writable(path)
    return paths


def _known_severity(name: str | None) -> str | None:
    if name is not None:
        severity_named(name)
    return name


def _log(wanted: bool) -> bool:
    if wanted:
        listen()
    return wanted


def _examine(python: str | None) -> str | None:
    from jaxdoctor.workers.interpreter import choose  # noqa: PLC0415 (help needs no subprocesses)

    choose(python)
    return python


PythonOption = Annotated[
    str | None,
    typer.Option(
        "--python",
        metavar="PATH",
        help="The Python of the environment in which you train, or that environment's folder: JAX and MuJoCo "
        "are taken from there, and nothing in it is changed. JAXDOCTOR_PYTHON by default, else our own.",
        callback=_examine,
    ),
]
FormatOption = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        help="How to write the report. May be given several times, each with its --output.",
        autocompletion=_complete_format,
        callback=_known_formats,
    ),
]
OutputOption = Annotated[
    list[Path] | None,
    typer.Option("--output", "-o", help="Write to this file instead of stdout.", callback=_writable),
]
FailOnOption = Annotated[
    str,
    typer.Option(
        "--fail-on",
        help="Exit with 1 from this severity on: error, warning, note or never.",
        autocompletion=_complete_severity,
        callback=_known_severity,
    ),
]
ConfiguredFailOnOption = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        help="Exit with 1 from this severity on: error, warning, note or never; as configured by default.",
        autocompletion=_complete_severity,
        callback=_known_severity,
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Log what is being done to stderr.", callback=_log)
]
