"""Elements of HTML and SVG. Whatever is not made by `tag` or `raw` is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from jaxdoctor.facts.text import clean

VOID = {"wbr", "br", "hr", "meta", "input", "line", "rect", "circle", "path", "polyline", "polygon"}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Content = str | Markup


def text(value: object) -> Markup:
    """Words as HTML shows them."""
    return value if isinstance(value, Markup) else Markup(escape(clean(value), quote=True))


def tag(name: str, /, *content: Content, **attributes: object) -> Markup:
    """An element. `data_sort_` stands for the attribute `data-sort`; one that is None is left out."""
    stated = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(text(part) for part in content)
    if name in VOID and not inner:
        return Markup(f"<{name}{stated}/>")
    return Markup(f"<{name}{stated}>{inner}</{name}>")


def joined(parts: Iterable[Content]) -> Markup:
    """Several elements after one another."""
    return Markup("".join(text(part) for part in parts))


def path(value: str) -> Markup:
    """A path in code type, which breaks after a slash where it has to."""
    parts = [part + "/" for part in value.split("/")]
    parts[-1] = parts[-1][:-1]
    return tag("code", Markup(tag("wbr").join(map(text, parts))))


Cell = Content | tuple[Content, object]
"""What a table shows; with what it is sorted by, when that is something else."""


def table(headings: Sequence[str], rows: Iterable[Sequence[Cell]], *, numbers: str = "", name: str) -> Markup:
    """A table that sorts when its headings are clicked; `numbers` has an "r" for each column of numbers."""

    def classes(index: int) -> str | None:
        return "number" if numbers[index : index + 1] == "r" else None

    head = joined(
        tag("th", tag("button", heading, type="button"), scope="col", class_=classes(index), aria_sort="none")
        if heading
        else tag("th", class_=classes(index))
        for index, heading in enumerate(headings)
    )
    body = joined(tag("tr", *(_cell(cell, classes(index)) for index, cell in enumerate(row))) for row in rows)
    return tag(
        "div",
        tag("table", tag("thead", tag("tr", head)), tag("tbody", body), aria_label=name),
        class_="scroll",
    )


def _cell(cell: Cell, classes: str | None) -> Markup:
    shown, order = cell if isinstance(cell, tuple) else (cell, None)
    return tag("td", shown, class_=classes, data_sort=order)


def figure(drawn: Markup, words: str) -> Markup:
    """A chart with a sentence below it; nothing where there is no chart."""
    return tag("figure", drawn, tag("figcaption", words)) if drawn else Markup()
