"""Counters against their limits, over the saves of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from jaxdoctor.facts.histories import History
from jaxdoctor.reports.web.chart import BOTTOM, HEIGHT, RIGHT, WIDTH, chart, label, level, upright
from jaxdoctor.reports.web.markup import Markup, joined, tag
from jaxdoctor.reports.wording import number, percent

LEFT, TOP = 64, 14
COLOURS = 8
"""So many counters are drawn; the table beside the chart has all of them."""

LOWEST = -9.0
MOST_TICKS = 5
LABEL_WIDTH = 48
"""Of a code, in units of the drawing."""

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def counter_chart(
    counters: Sequence[History], at: Sequence[int | None], errors: Mapping[int, str] | None = None
) -> Markup:
    """Each counter as a share of its limit, on a scale of powers of ten.

    Args:
        counters: one value for each save.
        at: the step of each save, where it is known.
        errors: saves, by their place, that hold an error such as NaN, with what is said of it.
    """
    shown = [history for history in counters if history.limit][:COLOURS]
    if not shown:
        return Markup()
    places = [index if step is None else step for index, step in enumerate(at)]
    scale = _Scale(places, [_decade(value, one.limit) for one in shown for value in one.values])
    drawn = _axes(scale)
    drawn += _errors([(scale.x(places[index]), words) for index, words in (errors or {}).items()])
    drawn += [_line(one, index, places, scale) for index, one in enumerate(shown)]
    return chart(drawn, HEIGHT, "Counters as a share of their limits, over the saves")


class _Scale:
    """Steps to the right, powers of ten below the limit downwards."""

    def __init__(self, places: Sequence[int], decades: Sequence[float]) -> None:
        self.first, self.last = min(places), max(places)
        self.bottom = math.floor(min([*decades, -1]))

    def x(self, place: float) -> float:
        span = self.last - self.first
        return LEFT + (WIDTH - LEFT - RIGHT) * ((place - self.first) / span if span else 0.5)

    def y(self, decade: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * max(decade, self.bottom) / self.bottom


def _decade(value: float | None, limit: int | None) -> float:
    """The power of ten that a count stands at below its limit; a negative one has passed it."""
    if not value or not limit or math.isnan(value):
        return LOWEST
    return 0.0 if value < 0 else min(max(math.log10(value / limit), LOWEST), 0.0)


def _axes(scale: _Scale) -> list[Markup]:
    stride = max(1, math.ceil(-scale.bottom / MOST_TICKS))
    decades = range(0, scale.bottom - 1, -stride)
    drawn = [level(scale.y(decade), LEFT, "grid" if decade else "limit") for decade in decades]
    drawn += [label(LEFT - 8, scale.y(decade) + 4, _power(decade), "end") for decade in decades]
    foot = HEIGHT - BOTTOM + 18
    drawn.append(label(scale.x(scale.first), foot, f"{scale.first:,}", "start" if _wide(scale) else "middle"))
    if _wide(scale):
        drawn.append(label(scale.x(scale.last), foot, f"{scale.last:,}", "end"))
    drawn.append(label((LEFT + WIDTH - RIGHT) / 2, foot + 14, "step", "middle", "name"))
    return drawn


def _errors(marks: Sequence[tuple[float, str]]) -> list[Markup]:
    """Saves that hold an error. Neighbours with the same codes have them written once."""
    written: list[tuple[float, str]] = []
    drawn = []
    for x, words in sorted(marks):
        is_said = any(words == said or x - at < LABEL_WIDTH for at, said in written[-1:])
        if not is_said:
            written.append((x, words))
        drawn.append(_error(x, words, is_said=is_said))
    return drawn


def _error(x: float, words: str, *, is_said: bool) -> Markup:
    """A save that holds an error, as a line from top to bottom with its codes."""
    if is_said:
        return tag("g", tag("title", words), upright(x, TOP, HEIGHT - BOTTOM), class_="error-mark")
    leftwards = x > WIDTH / 2
    stated = label(x + (-5 if leftwards else 5), HEIGHT - BOTTOM - 6, words, "end" if leftwards else "start")
    return tag("g", tag("title", words), upright(x, TOP, HEIGHT - BOTTOM), stated, class_="error-mark")


def _wide(scale: _Scale) -> bool:
    return scale.last > scale.first


def _power(decade: int) -> str:
    if decade == 0:
        return "limit"
    return percent(10.0**decade) if decade >= -2 else f"10{str(decade).translate(RAISED)}"  # noqa: PLR2004 (1 %)


def _line(history: History, index: int, places: Sequence[int], scale: _Scale) -> Markup:
    known = [(place, value) for place, value in zip(places, history.values, strict=True) if value is not None]
    points = [(scale.x(place), scale.y(_decade(value, history.limit))) for place, value in known]
    dots = joined(
        tag(
            "circle",
            tag("title", f"{history.leaf} at {place:,}: {number(value)} of {number(history.limit)}"),
            cx=f"{x:.1f}",
            cy=f"{y:.1f}",
            r=3,
            class_="bad" if value < 0 or math.isnan(value) else None,
        )
        for (x, y), (place, value) in zip(points, known, strict=True)
    )
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return tag("g", tag("polyline", points=path), dots, class_=f"line c{index}")
