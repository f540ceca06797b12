"""Verdicts, the margin as a bar, and what each precision did."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, repeat

from rich.console import Console
from rich.text import Text

from jaxdoctor.facts.outcome import BEYOND_BITS, Outcome, Verdict
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.text import clean
from jaxdoctor.facts.trial import Trial
from jaxdoctor.reports import behaviour
from jaxdoctor.reports.needed_products import answers
from jaxdoctor.reports.screen.lines import VERDICT_STYLES, glyphs, labelled, say, table
from jaxdoctor.reports.wording import (
    DASH,
    beyond_bits,
    driven,
    error,
    first_bad,
    horizons,
    interval,
    meaning,
    memory,
    needs,
    precision,
    price,
    scale,
    signed,
    worth_showing,
)

ROOMY = 112
"""From this width on the tables have columns for bars, the one-step error and the memory."""


def verdicts(report: Report, console: Console) -> None:
    """The answer: one verdict with its bar, or of several an overview and those that are not healthy."""
    if len(report.outcomes) > 1:
        _overview(report.outcomes, console)
    for number, outcome in enumerate(_drawn(report)):
        if number or len(report.outcomes) > 1:
            console.print()
        _verdict(outcome, console)


def tables(report: Report, console: Console) -> None:
    """What each precision did, and what drove the replays."""
    for outcome in _drawn(report):
        if driven(outcome) or outcome.xla_flags or outcome.trials:
            console.print()
        if len(report.outcomes) > 1 and outcome.trials:
            say(console, (outcome.subject, "bold"))
        if driven(outcome):
            labelled(console, "arguments" if outcome.is_call else "controls", driven(outcome))
        if outcome.xla_flags:
            labelled(console, "compiled", f"natively with {outcome.xla_flags}")
        if outcome.trials:
            _trials(outcome, console)


def _drawn(report: Report) -> list[Outcome]:
    """One rollout; of several only those that are not healthy."""
    return [outcome for outcome in report.outcomes if len(report.outcomes) == 1 or _alarming(outcome)]


def _alarming(outcome: Outcome) -> bool:
    """Whether it fails, or a scenario did not show what it was built to show."""
    if outcome.expected is not None:
        return outcome.verdict is not outcome.expected
    return outcome.verdict is not Verdict.HEALTHY


def _bits(outcome: Outcome, bits: int | None) -> str:
    """A number of bits; a dash where bits are not the question."""
    if bits is None:
        return DASH if outcome.verdict in BEYOND_BITS else "?"
    return str(bits)


def _overview(outcomes: tuple[Outcome, ...], console: Console) -> None:
    bars = console.width >= ROOMY
    rows: list[tuple[str | Text, ...]] = [
        (
            outcome.subject,
            Text(f"{outcome.verdict}{_as_built(outcome)}", VERDICT_STYLES[outcome.verdict]),
            _bits(outcome, outcome.required_bits),
            _bits(outcome, outcome.delivered_bits),
            signed(outcome),
            *((margin_bar(outcome, console),) if bars else ()),
        )
        for outcome in outcomes
    ]
    headings = ["rollout", "verdict", "requires", "delivered", "margin", *([""] if bars else [])]
    table(console, headings, rows, numbers="llrrrl")


def _as_built(outcome: Outcome) -> str:
    if outcome.expected is None:
        return ""
    return ", as built" if outcome.verdict is outcome.expected else f", built to be {outcome.expected}"


def _verdict(outcome: Outcome, console: Console) -> None:
    say(console, (outcome.subject, "bold"))
    labelled(console, "verdict", (meaning(outcome), VERDICT_STYLES[outcome.verdict]))
    _listed("behaves", behaviour.sentences(outcome), console)
    if beyond_bits(outcome):
        labelled(console, "margin", f"none: {needs(outcome)}")
    else:
        _margin(outcome, console)
    _listed("needs", answers(outcome), console)


def _listed(title: str, lines: Iterable[str], console: Console) -> None:
    for line, label in zip(lines, chain([title], repeat("")), strict=False):
        labelled(console, label, line)


def _margin(outcome: Outcome, console: Console) -> None:
    style = VERDICT_STYLES[outcome.verdict]
    margin = Text("margin    ", "bold").append(f"{signed(outcome)}  ", style)
    console.print(
        margin.append_text(margin_bar(outcome, console)).append(f"  {clean(needs(outcome))}"),
        soft_wrap=True,
    )


def margin_bar(outcome: Outcome, console: Console) -> Text:
    """A cell for each bit: required and there, to spare, missing, or beyond both."""
    needed, spare, missing, beyond = list(glyphs(console, "█▓░·", "#+!."))
    required, delivered = outcome.required_bits, outcome.delivered_bits
    if required is None or delivered is None or beyond_bits(outcome):
        return Text(beyond * scale(outcome), "dim")
    both = min(required, delivered)
    bar = Text(needed * both, "blue")
    bar.append(spare * max(delivered - required, 0), "green")
    bar.append(missing * max(required - delivered, 0), "red")
    return bar.append(beyond * (scale(outcome) - max(required, delivered)), "dim")


def _trials(outcome: Outcome, console: Console) -> None:
    shown = worth_showing(outcome)
    roomy = console.width >= ROOMY
    headings = ["precision", "kind", "bits", "failed", "95 %", "first bad", "horizon", "price"]
    rows = [_row(trial, outcome, roomy=roomy) for trial in shown]
    if roomy:
        headings[-2:] = ["horizon / chaos", "one-step error", "price", "memory"]
    table(console, headings, rows, numbers="llrrrlrrrr")
    if len(shown) < len(outcome.trials):
        say(console, (f"{len(outcome.trials) - len(shown)} more widths stand in --format json", "dim"))


def _row(trial: Trial, outcome: Outcome, *, roomy: bool) -> tuple[str | Text, ...]:
    failed = Text(f"{trial.failed} of {trial.replays}", "red" if trial.failed else "green")
    return (
        Text(clean(precision(trial)), "bold"),
        trial.kind.value,
        str(trial.precision.mantissa_bits),
        failed,
        interval(trial),
        first_bad(trial),
        horizons(trial),
        *([error(trial)] if roomy else []),
        price(trial, outcome),
        *([memory(trial)] if roomy else []),
    )
