"""Checkpoints and runs on the page."""

from __future__ import annotations

from collections.abc import Sequence

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Finding, Severity
from jaxdoctor.facts.histories import History, histories
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.series import Series
from jaxdoctor.facts.text import counted
from jaxdoctor.reports.web.counter_chart import COLOURS, counter_chart
from jaxdoctor.reports.web.markup import Cell, Markup, figure, joined, path, table, tag
from jaxdoctor.reports.wording import DASH, dtypes, extreme, in_bytes, number, percent, replayable


def checkpoints(report: Report) -> Markup:
    """Each run with its counters, then every checkpoint."""
    parts = [_series(series, report.findings) for series in report.series]
    if report.checkpoints:
        headings = ("checkpoint", "format", "step", "leaves", "on disk", "read", "dtypes by role")
        rows = map(_checkpoint, report.checkpoints)
        parts.append(table(headings, rows, numbers="llrrrrl", name="Checkpoints"))
    if report.with_leaves:
        parts += [_leaves(checkpoint) for checkpoint in report.checkpoints]
    if (line := replayable(report)) is not None:
        parts.append(tag("p", line))
    return joined(parts)


def _checkpoint(checkpoint: Checkpoint) -> tuple[Cell, ...]:
    return (
        path(checkpoint.path),
        checkpoint.format + ("" if checkpoint.finished else ", unfinished"),
        (number(checkpoint.step), checkpoint.step),
        (f"{len(checkpoint.leaves):,}", len(checkpoint.leaves)),
        (in_bytes(checkpoint.bytes_total), checkpoint.bytes_total),
        (in_bytes(checkpoint.bytes_read), checkpoint.bytes_read),
        dtypes(checkpoint),
    )


def _leaves(checkpoint: Checkpoint) -> Markup:
    """Every leaf of one checkpoint with what was seen of its values."""
    headings = ("leaf", "dtype", "shape", "role", "minimum", "maximum", "zeros", "not finite")
    heading = tag("h3", "Leaves of ", tag("code", checkpoint.path))
    rows = map(_leaf, checkpoint.leaves)
    return tag(
        "article", heading, table(headings, rows, numbers="llllrrrr", name=f"Leaves of {checkpoint.path}")
    )


def _leaf(leaf: Leaf) -> tuple[Cell, ...]:
    fixed = (
        path(leaf.path),
        leaf.dtype,
        "x".join(map(str, leaf.shape)) or "scalar",
        leaf.role.value,
    )
    seen = leaf.statistics
    if seen is None:
        return (*fixed, DASH, DASH, DASH, DASH)
    zeros = percent(seen.zeros / seen.sampled) if seen.sampled else DASH
    return (
        *fixed,
        (extreme(seen.minimum), seen.minimum),
        (extreme(seen.maximum), seen.maximum),
        (zeros, seen.zeros),
        (number(seen.nonfinite), seen.nonfinite),
    )


def _errors(series: Series, findings: Sequence[Finding]) -> dict[int, str]:
    """The saves, by their place in the series, that hold an error, with the codes: "JD301"."""
    codes: dict[str, dict[str, None]] = {}
    for finding in findings:
        if finding.severity is Severity.ERROR:
            for path in (finding.location.path, *finding.evidence.get("also_in", ())):
                codes.setdefault(str(path), {})[finding.code] = None
    return {
        index: ", ".join(codes[saved.path])
        for index, saved in enumerate(series.checkpoints)
        if saved.path in codes
    }


def _series(series: Series, findings: Sequence[Finding]) -> Markup:
    counters = sorted(histories(series), key=lambda history: history.share, reverse=True)
    heading = tag("h3", tag("code", series.path), f" {counted(len(series.checkpoints), 'checkpoint')}")
    if not counters:
        return tag("article", heading)
    at = [checkpoint.step for checkpoint in series.checkpoints]
    drawn = figure(
        counter_chart(counters, at, _errors(series, findings)),
        "Counters as a share of the number at which each stops counting.",
    )
    colours = iter(range(COLOURS))
    rows = (_counter(one, next(colours, None) if one.limit else None) for one in counters)
    headings = ("counter", "dtype", "last", "limit", "used")
    beside = table(headings, rows, numbers="llrrr", name=f"Counters of {series.path}")
    return tag("article", heading, tag("div", drawn, beside, class_="figures"))


def _counter(history: History, colour: int | None) -> tuple[Cell, ...]:
    swatch = tag("i", class_=f"swatch c{colour}") if colour is not None else ""
    return (
        (tag("div", swatch, path(history.leaf), class_="name-cell"), history.leaf),
        history.dtype,
        (number(history.last), history.last),
        ("none" if history.limit is None else number(history.limit), history.limit),
        (percent(history.share), history.share),
    )
