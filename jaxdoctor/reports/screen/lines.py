"""Lines, tables and bars in one house style. Every text passes here, so nothing steers the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jaxdoctor.facts.finding import Severity
from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.facts.text import clean

FIRST_COLUMN = 10
"""What the words at the left of the first lines are filled up to."""

HANGING = 4
"""What every line of a sentence but its first is indented by."""

# Of the 256 colours few have a contrast of 4.5 on white as well as on black; these do.
RED, GREEN, BLUE, MAGENTA, GREY = "color(131)", "color(29)", "color(63)", "color(163)", "color(243)"

# What must be seen first brings its own background, so that the terminal's does not matter.
ALARM, CAUTION, REMARK, GOOD = (
    "bold color(231) on color(160)",
    "bold color(16) on color(214)",
    "bold color(231) on color(25)",
    "bold color(231) on color(22)",
)

STYLES = {Severity.ERROR: ALARM, Severity.WARNING: CAUTION, Severity.NOTE: REMARK}

VERDICT_STYLES = {
    Verdict.HEALTHY: GOOD,
    Verdict.PRECISION: ALARM,
    Verdict.ENGINE: ALARM,
    Verdict.MODEL: ALARM,
    Verdict.UNKNOWN: CAUTION,
}

Part = str | tuple[str, str]
"""Words, or words with a style."""


def _text(parts: Iterable[Part]) -> Text:
    text = Text()
    for part in parts:
        words, style = (part, "") if isinstance(part, str) else part
        text.append(clean(words), style)
    return text


def say(console: Console, *parts: Part, indent: int = 0) -> None:
    """A sentence of parts, each plain or with a style: broken between words, its other lines hanging.

    In a file or a pipe whose width nobody stated it stays in one line, where `grep` finds it whole.
    """
    text = _text(parts)
    margin = Text(" " * indent)
    if console.soft_wrap:
        console.print(margin + text)
        return
    width = max(console.width - indent - HANGING, 20)
    lines = text.wrap(console, width, overflow="fold")
    for number, line in enumerate(lines):
        line.rstrip()
        console.print(Text(" " * (indent + (HANGING if number else 0))) + line, soft_wrap=True)


def copied(console: Console, *parts: Part) -> None:
    """A line that people copy: only the terminal itself breaks it."""
    console.print(_text(parts), soft_wrap=True)


def labelled(console: Console, label: str, *parts: Part) -> None:
    """A line with its word at the left, broken so that the rest stays in its column."""
    grid = Table.grid(padding=0)
    grid.add_column(width=FIRST_COLUMN, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(label, "bold"), _text(parts))
    console.print(grid, soft_wrap=False)


def table(
    console: Console, headings: Sequence[str], rows: Iterable[Sequence[str | Text]], *, numbers: str = ""
) -> None:
    """A table without frames; `numbers` holds an "r" for each column that is flush right."""
    drawn = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", show_edge=False
    )
    for index, heading in enumerate(headings):
        right = numbers[index : index + 1] == "r"
        drawn.add_column(heading, justify="right" if right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(cell if isinstance(cell, Text) else Text(clean(cell)) for cell in row))
    console.print(drawn, soft_wrap=False)


def glyphs(console: Console, fancy: str, simple: str) -> str:
    """Block characters where the stream can carry them, else plain ones."""
    try:
        fancy.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return simple
    return fancy


def bar(console: Console, share: float, width: int, style: str) -> Text:
    """A share from 0 to 1 as a bar. Only the whole fills it, and only nothing leaves it empty."""
    full, empty = list(glyphs(console, "█░", "#."))
    part = min(max(round(share * width), 1), width - 1)
    filled = width if share >= 1 else part if share > 0 else 0
    return Text(full * filled, style).append(empty * (width - filled), GREY)
