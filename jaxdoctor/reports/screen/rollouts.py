"""Verdicts, the margin as a bar, and what each precision did."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, repeat

from rich.console import Console
from rich.text import Text

from jaxdoctor.facts.outcome import BEYOND_BITS, Outcome, Verdict
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.text import clean, counted
from jaxdoctor.facts.trial import Trial
from jaxdoctor.reports import behaviour
from jaxdoctor.reports.closed_loop import sentences as closed_loop
from jaxdoctor.reports.needed_products import answers
from jaxdoctor.reports.screen.lines import (
    BLUE,
    GREEN,
    GREY,
    RED,
    VERDICT_STYLES,
    glyphs,
    labelled,
    say,
    table,
)
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
    recorded,
    scale,
    signed,
    worth_showing,
)

ROOMY = 112
"""From this width on the tables have columns for bars, the one-step error and the memory."""


MOST_MARGINS = 8


def verdicts(report: Report, console: Console) -> None:
    """The answer: one verdict with its bar, or of several an overview and those that are not healthy."""
    if len(report.outcomes) > 1:
        healthy = [] if report.verbose or report.in_full else _unremarkable(report.outcomes)
        shown = tuple(outcome for outcome in report.outcomes if outcome not in healthy)
        if shown:
            _overview(shown, console)
        if healthy:
            verb = "is" if len(healthy) == 1 else "are"
            many = f"{counted(len(healthy), 'rollout')} of {len(report.outcomes):,}"
            margins = ", ".join(dict.fromkeys(signed(outcome) for outcome in healthy[:MOST_MARGINS]))
            say(console, (many, "bold"), f" {verb} healthy (margin {margins})")
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


def _unremarkable(outcomes: tuple[Outcome, ...]) -> list[Outcome]:
    """Healthy rollouts whose line says nothing; of packaged scenarios, whose verdicts are the test, none.

    Nor of environments: an engine is part of the answer.
    """
    return [
        outcome
        for outcome in outcomes
        if outcome.verdict is Verdict.HEALTHY and outcome.expected is None and outcome.loop is None
    ]


def _drawn(report: Report) -> list[Outcome]:
    """One rollout; of several only those that are not healthy, and those that a policy drives."""
    return [outcome for outcome in report.outcomes if len(report.outcomes) == 1 or _is_drawn(outcome)]


def _is_drawn(outcome: Outcome) -> bool:
    """Whether it is drawn: it fails, a policy drives it, or a scenario did not show what it was built for."""
    if outcome.expected is not None:
        return outcome.verdict is not outcome.expected
    return outcome.verdict is not Verdict.HEALTHY or outcome.loop is not None


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
    return ", as expected" if outcome.verdict is outcome.expected else f", expected {outcome.expected}"


def _verdict(outcome: Outcome, console: Console) -> None:
    say(console, (outcome.subject, "bold"))
    verdict, colon, sentence = meaning(outcome).partition(":")
    labelled(console, "verdict", (verdict, VERDICT_STYLES[outcome.verdict]), f"{colon}{sentence}")
    _listed("behaves", behaviour.sentences(outcome), console)
    if beyond_bits(outcome):
        labelled(console, "margin", f"none: {needs(outcome)}")
    else:
        _margin(outcome, console)
    if outcome.bundle is not None:
        labelled(console, "bundle", recorded(outcome))
    _listed("needs", answers(outcome), console)
    _listed("loop", closed_loop(outcome), console)


def _listed(title: str, lines: Iterable[str], console: Console) -> None:
    for line, label in zip(lines, chain([title], repeat("")), strict=False):
        labelled(console, label, line)


def _margin(outcome: Outcome, console: Console) -> None:
    margin = Text("margin    ", "bold").append(f"{signed(outcome)}  ", "bold")
    margin.append_text(margin_bar(outcome, console))
    words = f"  {clean(needs(outcome))}"
    if console.soft_wrap or margin.cell_len + len(words) <= console.width:
        console.print(margin.append(words), soft_wrap=True)
    else:
        console.print(margin, soft_wrap=True)
        labelled(console, "", words.strip())


def margin_bar(outcome: Outcome, console: Console) -> Text:
    """A cell for each bit: required and there, to spare, missing, or beyond both."""
    needed, spare, missing, beyond = list(glyphs(console, "█▓░·", "#+!."))
    required, delivered = outcome.required_bits, outcome.delivered_bits
    if required is None or delivered is None or beyond_bits(outcome):
        return Text(beyond * scale(outcome), GREY)
    both = min(required, delivered)
    bar = Text(needed * both, BLUE)
    bar.append(spare * max(delivered - required, 0), GREEN)
    bar.append(missing * max(required - delivered, 0), RED)
    return bar.append(beyond * (scale(outcome) - max(required, delivered)), GREY)


def _trials(outcome: Outcome, console: Console) -> None:
    shown = worth_showing(outcome)
    roomy = console.width >= ROOMY
    headings = ["precision", "kind", "bits", "failed", "95 %", "first failure", "leaves x64", "slowdown"]
    rows = [_row(trial, outcome, roomy=roomy) for trial in shown]
    if roomy:
        headings[-2:] = ["leaves x64 / chaos", "one-step error", "slowdown", "memory"]
    table(console, headings, rows, numbers="llrrrlrrrr")
    if len(shown) < len(outcome.trials):
        say(console, f"{counted(len(outcome.trials) - len(shown), 'more precision')} in --format json")


def _row(trial: Trial, outcome: Outcome, *, roomy: bool) -> tuple[str | Text, ...]:
    failed = Text(f"{trial.failed} of {trial.replays}", RED if trial.failed else GREEN)
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
