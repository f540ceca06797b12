"""Checkpoints, and the counters of a run beside their limits."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.coverage import Coverage
from jaxdoctor.facts.histories import History, histories
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.series import Series
from jaxdoctor.facts.text import counted, cut_left
from jaxdoctor.reports.screen.lines import GREEN, MAGENTA, RED, bar, glyphs, labelled, say, table
from jaxdoctor.reports.screen.runs import MANY, MOST_RUNS, draw_overview, reach, runs_of
from jaxdoctor.reports.wording import DASH, dtypes, extreme, in_bytes, number, percent

MOST_ROWS = 20
"""Of more checkpoints than this a terminal shows the first and the last ones."""

MOST_COUNTERS = 12
MOST_LEAVES = 1000
BAR, SMALL_BAR = 14, 8
ROOMY = 104
"""From this width on counters have columns for their growth."""

NEAR, FULL = 0.9, 1.0
LEVELS = ("▁▂▃▄▅▆▇█", "_.-=+*#@")
SPARK = 24


def leaves(report: Report, console: Console) -> None:
    """Every leaf of each checkpoint, where they were asked for."""
    if report.with_leaves:
        for checkpoint in report.checkpoints:
            console.print()
            _leaves(checkpoint, console, in_full=report.in_full)


def draw(report: Report, console: Console) -> None:
    """A table of the checkpoints, then each run with its counters; of many runs only the ill ones."""
    runs = runs_of(report)
    many = len(runs) >= MANY
    if many:
        console.print()
        draw_overview(runs, console, in_full=report.in_full)
    if report.checkpoints and (report.in_full or not many):
        console.print()
        _checkpoints(report.checkpoints, console, in_full=report.in_full)
    detailed = [run for run in runs if run.series is not None and (run.ill or report.in_full or not many)]
    for run in detailed if report.in_full else detailed[:MOST_RUNS]:
        assert run.series is not None
        console.print()
        _series(run.series, console)
    if report.coverage is not None and report.coverage.leaves:
        console.print()
        _coverage(report.coverage, console)


def _coverage(covered: Coverage, console: Console) -> None:
    """The line that says how much of everything was read."""
    whole = covered.leaves - covered.sampled - covered.unread
    parts = ((whole, "whole"), (covered.sampled, "sampled"), (covered.unread, "not at all"))
    amounts = ", ".join(f"{number:,} {how}" for number, how in parts if number)
    share = f"{percent(covered.share)} of {in_bytes(covered.value_bytes)} of values"
    labelled(console, "read", f"{counted(covered.leaves, 'leaf', 'leaves')}: {amounts}; {share}")


def _leaves(checkpoint: Checkpoint, console: Console, *, in_full: bool) -> None:
    """Every leaf of one checkpoint with what was seen of its values."""
    say(console, (checkpoint.path, "bold"), f"  {counted(len(checkpoint.leaves), 'leaf', 'leaves')}")
    shown = checkpoint.leaves if in_full else checkpoint.leaves[:MOST_LEAVES]
    headings = ("leaf", "dtype", "shape", "role", "minimum", "maximum", "zeros", "not finite")
    table(console, headings, [_leaf(leaf, console) for leaf in shown], numbers="llllrrrr")
    if len(shown) < len(checkpoint.leaves):
        rest = counted(len(checkpoint.leaves) - len(shown), "more leaf", "more leaves")
        say(console, f"{rest}; --output FILE holds all of them")


def _leaf(leaf: Leaf, console: Console) -> tuple[str, ...]:
    seen = leaf.statistics
    shape = "x".join(map(str, leaf.shape)) or "scalar"
    fixed = (cut_left(leaf.path, max(console.width // 3, 20)), leaf.dtype, shape, leaf.role.value)
    if seen is None:
        return (*fixed, DASH, DASH, DASH, DASH)
    zeros = percent(seen.zeros / seen.sampled) if seen.sampled else DASH
    return (*fixed, extreme(seen.minimum), extreme(seen.maximum), zeros, f"{seen.nonfinite:,}")


def _checkpoints(checkpoints: tuple[Checkpoint, ...], console: Console, *, in_full: bool) -> None:
    if len(checkpoints) == 1:
        _one(checkpoints[0], console)
        return
    shown = checkpoints if in_full else _ends(checkpoints)
    kinds = {dtypes(checkpoint) for checkpoint in checkpoints}
    roomy = console.width >= ROOMY
    apart = roomy and len(kinds) > 1
    rows = [
        (
            cut_left(checkpoint.path, max(console.width // (3 if roomy else 2) - 4, 20)),
            checkpoint.format,
            DASH if checkpoint.step is None else f"{checkpoint.step:,}",
            f"{len(checkpoint.leaves):,}",
            in_bytes(checkpoint.bytes_total),
            *((in_bytes(checkpoint.bytes_read),) if roomy else ()),
            *((dtypes(checkpoint),) if apart else ()),
        )
        for checkpoint in shown
    ]
    headings = ["checkpoint", "format", "step", "leaves", "on disk"]
    headings += (["read"] if roomy else []) + (["dtypes by role"] if apart else [])
    table(console, headings, rows, numbers="llrrrrl")
    if len(kinds) == 1 and kinds != {""}:
        labelled(console, "all hold", next(iter(kinds)))
    elif len(kinds) > 1 and not apart:
        say(console, f"their dtypes differ: {len(kinds)} kinds, in --format json and from {ROOMY} columns on")
    _left_out(len(checkpoints) - len(shown), console)


def _one(checkpoint: Checkpoint, console: Console) -> None:
    step = "no step" if checkpoint.step is None else f"step {checkpoint.step:,}"
    state = "" if checkpoint.finished else ", unfinished"
    size = f"{in_bytes(checkpoint.bytes_total)} on disk, {in_bytes(checkpoint.bytes_read)} read"
    say(console, (checkpoint.path, "bold"))
    leaves = counted(len(checkpoint.leaves), "leaf", "leaves")
    labelled(console, "holds", f"{checkpoint.format}, {step}, {leaves}, {size}{state}")
    if checkpoint.leaves:
        labelled(console, "dtypes", dtypes(checkpoint))


def _ends(checkpoints: tuple[Checkpoint, ...]) -> tuple[Checkpoint, ...]:
    if len(checkpoints) <= MOST_ROWS:
        return checkpoints
    return (*checkpoints[: MOST_ROWS // 2], *checkpoints[-MOST_ROWS // 2 :])


def _left_out(number: int, console: Console) -> None:
    if number > 0:
        say(console, f"{counted(number, 'checkpoint')} between them are in --format json")


def _series(series: Series, console: Console) -> None:
    many = counted(len(series.checkpoints), "checkpoint")
    say(console, (series.path, "bold"), f"  {many}{reach(series)}")
    found = sorted(histories(series), key=lambda history: history.share, reverse=True)
    if not found:
        return
    roomy = console.width >= ROOMY
    headings = ["counter", "dtype", "last", "limit", "used of its limit"]
    if roomy:
        headings[4:] = ["per save", "used of its limit", "over the run"]
    rows = [_counter(history, console, roomy=roomy) for history in found[:MOST_COUNTERS]]
    table(console, headings, rows, numbers="llrrr" if roomy else "llrr")
    if len(found) > MOST_COUNTERS:
        say(console, f"{len(found) - MOST_COUNTERS} more counters are in --format json")


def _counter(history: History, console: Console, *, roomy: bool) -> tuple[str | Text, ...]:
    share = history.share
    style = RED if share >= FULL else MAGENTA if share >= NEAR else GREEN
    used = bar(console, share, BAR if roomy else SMALL_BAR, style).append(f" {percent(share)}")
    return (
        cut_left(history.leaf, max(console.width // 3, 16)),
        history.dtype,
        number(history.last),
        "none" if history.limit is None else number(history.limit),
        *([_rate(history)] if roomy else []),
        used,
        *([_spark(history, console)] if roomy else []),
    )


def _rate(history: History) -> str:
    """What the counter grew by between two saves, on average; a dash for one that fell."""
    known = [value for value in history.values if value is not None]
    grown = known[-1] - known[0]
    return number(round(grown / (len(known) - 1))) if len(known) > 1 and grown >= 0 else DASH


def _spark(history: History, console: Console) -> str:
    """The counter over the saves, lowest value at the bottom, one character each."""
    known = [value for value in history.values if value is not None]
    known = known[:: max(1, -(-len(known) // SPARK))]
    levels = glyphs(console, *LEVELS)
    low, span = min(known), (max(known) - min(known)) or 1
    return "".join(levels[min(int((value - low) / span * len(levels)), len(levels) - 1)] for value in known)
