"""For people: colour on a terminal, plain text anywhere else."""

from __future__ import annotations

import io
import os
import sys
from dataclasses import replace
from typing import TextIO

from rich.console import Console

from jaxdoctor.facts.report import Report
from jaxdoctor.reports.format import Format
from jaxdoctor.reports.screen import (
    aside,
    bundles,
    checkpoints,
    counts,
    findings,
    machine,
    rollouts,
    signatures,
)
from jaxdoctor.reports.screen.lines import say
from jaxdoctor.reports.wording import inert, summary, worst_first

PLAIN_WIDTH = 120
"""Tables in a file or a log have this width; nobody can know the reader's."""

ANSWER = (
    machine.tests,
    bundles.draw,
    rollouts.verdicts,
    signatures.verdicts,
    findings.prescribed,
    findings.found,
    checkpoints.leaves,
)
"""What was asked for stands first: the verdict, what mends it, why."""

TABLES = (rollouts.tables, checkpoints.draw, signatures.draw, machine.draw)
"""What it was seen by: in a file, and with --verbose."""


def _write(report: Report, out: TextIO) -> None:
    if out.isatty():
        # Rich takes the width from the terminal, and leaves colours away under NO_COLOR or TERM=dumb.
        _draw(report, Console(file=out, highlight=False, emoji=False, markup=False))
        return
    if out is sys.stdout and _forced():
        _draw(
            report,
            Console(
                file=out,
                width=_width(),
                force_terminal=True,
                color_system="256",
                soft_wrap=not _stated(),
                highlight=False,
                emoji=False,
                markup=False,
            ),
        )
        return
    # Rich fills table cells up with spaces, which nobody wants in a log.
    out.writelines(
        f"{inert(line.rstrip())}\n" for line in _plain(report, out.encoding or "utf-8").split("\n")[:-1]
    )


def _forced() -> bool:
    """Whether colour is wanted where the stream is no terminal: the log of a CI job shows it."""
    if os.environ.get("NO_COLOR"):
        return False
    return any(os.environ.get(name, "0") not in {"", "0"} for name in ("FORCE_COLOR", "CLICOLOR_FORCE"))


def _stated() -> int:
    """The width that the environment states; 0: none."""
    stated = os.environ.get("COLUMNS", "")
    return int(stated) if stated.isdecimal() else 0


def _width() -> int:
    return _stated() or PLAIN_WIDTH


def _plain(report: Report, encoding: str) -> str:
    kept = io.BytesIO()
    with io.TextIOWrapper(kept, encoding=encoding, errors="backslashreplace", newline="\n") as stream:
        console = Console(
            file=stream,
            width=_width(),
            color_system=None,
            soft_wrap=report.in_full or not _stated(),
            highlight=False,
            emoji=False,
        )
        _draw(report, console)
        stream.flush()
        return kept.getvalue().decode(encoding)


def _draw(report: Report, console: Console) -> None:
    ordered = replace(report, findings=worst_first(report.findings))
    for draw in ANSWER:
        draw(ordered, console)
    aside.draw(ordered, console)
    if report.in_full or report.verbose or machine_only(report):
        for draw in TABLES:
            draw(ordered, console)
    else:
        machine.assumed(ordered, console)
        counts.draw(ordered, console)
    console.print()
    say(console, (summary(report), "bold"))


def machine_only(report: Report) -> bool:
    """Whether nothing but the machine was looked at, so that it is the answer."""
    return not (report.outcomes or report.checkpoints or report.signatures or report.tests or report.bundles)


FORMAT = Format(write=_write, suffixes=(".txt",), accepts=(".log",), for_logs=True)
