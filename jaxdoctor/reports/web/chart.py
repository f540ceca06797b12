"""What the charts share: their size, labels and frame.

Colours are classes, so that the page's style sets them for light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxdoctor.reports.web.markup import Markup, tag

WIDTH, HEIGHT = 560, 290
LEFT, RIGHT, TOP, BOTTOM = 50, 16, 44, 40


def label(x: float, y: float, words: str, anchor: str, classes: str | None = None) -> Markup:
    """Words at a place; `anchor` says which end of them stands there."""
    return tag("text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=classes)


def upright(x: float, top: float, bottom: float, classes: str | None = None) -> Markup:
    """A vertical line."""
    return tag("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=f"{top:.1f}", y2=f"{bottom:.1f}", class_=classes)


def level(y: float, left: float, classes: str = "grid") -> Markup:
    """A horizontal line to the right edge."""
    return tag("line", x1=f"{left:.1f}", x2=WIDTH - RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}", class_=classes)


def chart(drawn: Sequence[Markup], height: float, name: str) -> Markup:
    """The frame, which scales with its column."""
    return tag(
        "svg", *drawn, viewBox=f"0 0 {WIDTH} {height:.0f}", role="img", aria_label=name, class_="chart"
    )
