"""The share of replays that failed at each width, with its interval, and the bits that matter marked."""

from __future__ import annotations

from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.facts.precision import BF16, F32, TF32, Rounding
from jaxdoctor.facts.text import shortened
from jaxdoctor.facts.trial import Kind, Trial
from jaxdoctor.reports.web.chart import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, chart, label, level, upright
from jaxdoctor.reports.web.markup import Markup, joined, tag
from jaxdoctor.reports.wording import first_bad, interval, precision

X64_PLACE = F32.mantissa_bits + 3
"""Where float64 stands on the axis of bits: beyond a gap, for 52 would press the rest together."""

LAST = X64_PLACE + 1
NAMES = {precision.mantissa_bits: precision.name for precision in (BF16, TF32, F32)}
TICKS = (1, 4, 7, 10, 13, 16, 20, 23)
SHARES = (0, 0.25, 0.5, 0.75, 1)
FAR_LEFT, FAR_RIGHT = 0.34, 0.72
"""Beyond these shares of the width, words have room on one side only."""

ROW = 15


def share_chart(outcome: Outcome) -> Markup:
    """Emulated widths as a curve of dots, native settings as diamonds."""
    if not outcome.trials:
        return Markup()
    ordered = sorted(outcome.trials, key=lambda trial: (trial.precision.mantissa_bits, trial.kind))
    drawn = [
        _margin(outcome),
        *(level(_y(share), LEFT) for share in SHARES),
        *(label(LEFT - 8, _y(share) + 4, f"{100 * share:.0f} %", "end") for share in SHARES),
        *(_tick(bits, str(bits), NAMES.get(bits, "")) for bits in TICKS),
        _tick(X64_PLACE, "52", "x64"),
        _curve(ordered),
        *map(_point, ordered),
        *_marks(outcome),
    ]
    return chart(drawn, HEIGHT, f"Share of replays of {outcome.subject} that failed, by mantissa bits")


def _x(bits: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * min(bits, X64_PLACE) / LAST


def _y(share: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)


def _by(outcome: Outcome) -> str:
    return "this machine" if outcome.delivered_by == "here" else shortened(outcome.delivered_by, 24)


def _requires(outcome: Outcome) -> str:
    bits = outcome.required_bits
    beyond = bits is not None and bits > F32.mantissa_bits
    most = "at most " if outcome.fewer_untried else ""
    return f"requires more than {F32.mantissa_bits}" if beyond else f"requires {most}{bits}"


def _tick(bits: int, words: str, name: str) -> Markup:
    below = label(_x(bits), HEIGHT - BOTTOM + 16, words, "middle")
    return joined([below, label(_x(bits), HEIGHT - BOTTOM + 30, name, "middle", "name")])


def _margin(outcome: Outcome) -> Markup:
    """The bits between required and delivered: to spare, or missing."""
    required, delivered = outcome.required_bits, outcome.delivered_bits
    if required is None or delivered is None or required == delivered:
        return Markup()
    left, right = sorted((_x(required), _x(delivered)))
    return tag(
        "rect",
        tag("title", f"margin {delivered - required:+d} bits"),
        x=f"{left:.1f}",
        y=TOP,
        width=f"{right - left:.1f}",
        height=HEIGHT - TOP - BOTTOM,
        class_=f"band {'spare' if delivered > required else 'missing'}",
    )


def _marks(outcome: Outcome) -> list[Markup]:
    """What is required and what is delivered, the words of each on its outer side."""
    marks = [
        (outcome.delivered_bits, "delivered", f"{_by(outcome)} delivers {outcome.delivered_bits}"),
        (outcome.required_bits, "required", _requires(outcome)),
    ]
    known = sorted((bits, kind, words) for bits, kind, words in marks if bits is not None)
    return [_mark(bits, kind, words, rank) for rank, (bits, kind, words) in enumerate(known)]


def _mark(bits: int, kind: str, words: str, rank: int) -> Markup:
    """The lower one stands left of its line, unless the edge is near; the upper one right of it."""
    x = _x(bits)
    leftwards = x > WIDTH * FAR_RIGHT or (rank == 0 and x > WIDTH * FAR_LEFT)
    top = TOP - 12 - ROW * (rank if leftwards or x < WIDTH * FAR_LEFT else 0)
    side, anchor = (-6, "end") if leftwards else (6, "start")
    line = upright(x, top - 8, HEIGHT - BOTTOM, "mark")
    return tag("g", line, label(x + side, top + 2, words, anchor), class_=kind)


def _curve(ordered: list[Trial]) -> Markup:
    points = " ".join(
        f"{_x(trial.precision.mantissa_bits):.1f},{_y(trial.failed / max(trial.replays, 1)):.1f}"
        for trial in ordered
        if trial.kind is Kind.EMULATED and trial.precision.rounding is Rounding.NEAREST
    )
    return tag("polyline", points=points, class_="curve")


def _point(trial: Trial) -> Markup:
    x, y = _x(trial.precision.mantissa_bits), _y(trial.failed / max(trial.replays, 1))
    stated = f"{precision(trial)}, {trial.kind}: {trial.failed} of {trial.replays} failed"
    diamond = tag("path", d=f"M{x:.1f} {y - 6:.1f}l6 6-6 6-6-6z")
    dot = tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=4)
    return tag(
        "g",
        tag("title", f"{stated} ({interval(trial)}), first failure: {first_bad(trial)}"),
        upright(x, _y(trial.interval.high), _y(trial.interval.low), "whisker"),
        diamond if trial.kind is Kind.NATIVE else dot,
        class_=f"{trial.kind} {'bad' if trial.failed else 'good'}",
    )
