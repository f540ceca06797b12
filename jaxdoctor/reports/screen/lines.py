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

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}

VERDICT_STYLES = {
    Verdict.HEALTHY: "bold green",
    Verdict.PRECISION: "bold red",
    Verdict.ENGINE: "bold red",
    Verdict.MODEL: "bold red",
    Verdict.UNKNOWN: "bold yellow",
}


def say(console: Console, *parts: str | tuple[str, str]) -> None:
    """One line of parts, each plain or with a style. It breaks where the terminal does, never before."""
    text = Text()
    for part in parts:
        words, style = (part, "") if isinstance(part, str) else part
        text.append(clean(words), style)
    console.print(text, soft_wrap=True)


def labelled(console: Console, label: str, *parts: str | tuple[str, str]) -> None:
    """A line with its word at the left, broken so that the rest stays in its column."""
    grid = Table.grid(padding=0)
    grid.add_column(width=FIRST_COLUMN, no_wrap=True)
    grid.add_column(overflow="fold")
    text = Text()
    for part in parts:
        words, style = (part, "") if isinstance(part, str) else part
        text.append(clean(words), style)
    grid.add_row(Text(label, "bold"), text)
    console.print(grid)


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
    console.print(drawn)


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
    return Text(full * filled, style).append(empty * (width - filled), "dim")
