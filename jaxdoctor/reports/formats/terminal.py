"""For people: colour on a terminal, plain text anywhere else."""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO

from rich.console import Console

from jaxdoctor.facts.report import Report
from jaxdoctor.reports.format import Format
from jaxdoctor.reports.screen import checkpoints, findings, machine, rollouts, signatures
from jaxdoctor.reports.wording import inert

PLAIN_WIDTH = 120
"""Tables in a file or a log have this width; nobody can know the reader's."""

SECTIONS = (machine.draw, checkpoints.draw, signatures.draw, findings.draw)

ANSWER_FIRST = (
    rollouts.verdicts,
    findings.prescribed,
    findings.found,
    rollouts.tables,
    checkpoints.draw,
    signatures.draw,
    machine.draw,
    findings.closing,
)
"""A report of rollouts: the verdict, what mends it, why, and then what it was seen by."""


def _write(report: Report, out: TextIO) -> None:
    if out.isatty():
        # Rich takes the width from the terminal, and leaves colours away under NO_COLOR or TERM=dumb.
        _draw(report, Console(file=out, highlight=False, emoji=False, markup=False))
        return
    if out is sys.stdout and _forced():
        _draw(
            report,
            Console(
                file=out, width=_width(), force_terminal=True, highlight=False, emoji=False, markup=False
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


def _width() -> int:
    stated = os.environ.get("COLUMNS", "")
    return int(stated) if stated.isdecimal() and int(stated) else PLAIN_WIDTH


def _plain(report: Report, encoding: str) -> str:
    kept = io.BytesIO()
    with io.TextIOWrapper(kept, encoding=encoding, errors="backslashreplace", newline="\n") as stream:
        _draw(report, Console(file=stream, width=_width(), color_system=None, highlight=False, emoji=False))
        stream.flush()
        return kept.getvalue().decode(encoding)


def _draw(report: Report, console: Console) -> None:
    for draw in ANSWER_FIRST if report.outcomes else SECTIONS:
        draw(report, console)


FORMAT = Format(write=_write, suffixes=(".txt",), accepts=(".log",), for_logs=True)
