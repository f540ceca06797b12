"""Rollouts and products on the page."""

from __future__ import annotations

from jaxdoctor.facts.delivery import Delivery
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.text import counted
from jaxdoctor.facts.trial import Trial
from jaxdoctor.reports import behaviour
from jaxdoctor.reports.closed_loop import sentences as closed_loop
from jaxdoctor.reports.needed_products import answers
from jaxdoctor.reports.web.horizon_chart import horizon_chart
from jaxdoctor.reports.web.markup import Cell, Markup, figure, joined, path, table, tag
from jaxdoctor.reports.web.share_chart import share_chart
from jaxdoctor.reports.wording import (
    driven,
    error,
    first_bad,
    horizons,
    interval,
    meaning,
    memory,
    needs,
    number,
    precision,
    price,
    recorded,
    signed,
)

TONES = {Verdict.HEALTHY: "good", Verdict.UNKNOWN: "warn"}


def rollouts(report: Report) -> Markup:
    """An overview of several, then each with its charts and its table."""
    overview = Markup()
    if len(report.outcomes) > 1:
        headings = ("rollout", "verdict", "requires", "delivered", "margin")
        overview = table(headings, map(_overview, report.outcomes), numbers="llrrr", name="Rollouts")
    return joined([overview, *map(_rollout, report.outcomes)])


def _overview(outcome: Outcome) -> tuple[Cell, ...]:
    built = f", expected {outcome.expected}" if outcome.expected is not None else ""
    return (
        path(outcome.subject),
        joined(
            [tag("span", str(outcome.verdict), class_=f"pill {TONES.get(outcome.verdict, 'bad')}"), built]
        ),
        number(outcome.required_bits),
        number(outcome.delivered_bits),
        (signed(outcome), outcome.margin_bits),
    )


def _rollout(outcome: Outcome) -> Markup:
    told = driven(outcome)
    said = joined(
        [
            tag("p", meaning(outcome), "; ", needs(outcome), "."),
            *(tag("p", sentence) for sentence in behaviour.sentences(outcome)),
            *([tag("p", "arguments: " if outcome.is_call else "controls: ", told)] if told else []),
            *([tag("p", recorded(outcome), ".")] if outcome.bundle is not None else []),
            *(tag("p", sentence) for sentence in [*answers(outcome), *closed_loop(outcome)]),
        ]
    )
    heading = tag("h3", path(outcome.subject), f" margin {signed(outcome)}")
    if not outcome.trials:
        return tag("article", heading, said)
    charts = [
        figure(
            share_chart(outcome),
            "Share of replays that failed, by mantissa bits, with the Wilson 95 % interval. "
            "Dots are emulated, diamonds ran natively.",
        ),
        figure(
            horizon_chart(outcome),
            "Steps until a replay parts from x64. The tick is where chaos alone parts it: "
            "a bar that reaches the tick loses nothing to precision.",
        ),
    ]
    return tag("article", heading, said, tag("div", *charts, class_="figures"), _trials(outcome))


def _trials(outcome: Outcome) -> Markup:
    headings = (
        "precision",
        "kind",
        "bits",
        "failed",
        "95 %",
        "first failure",
        "leaves x64 / chaos",
        "one-step error",
        "slowdown",
        "memory",
    )
    rows = (_trial(trial, outcome) for trial in outcome.trials)
    return table(headings, rows, numbers="llrrrlrrrr", name=f"Precisions of {outcome.subject}")


def _trial(trial: Trial, outcome: Outcome) -> tuple[Cell, ...]:
    tone = "bad" if trial.failed else "good"
    return (
        tag("code", precision(trial)),
        trial.kind.value,
        str(trial.precision.mantissa_bits),
        (
            tag("span", f"{trial.failed} of {trial.replays}", class_=tone),
            trial.failed / max(trial.replays, 1),
        ),
        (interval(trial), trial.interval.low),
        (first_bad(trial), trial.first_bad_step),
        (horizons(trial), trial.horizon),
        (error(trial), trial.one_step_error),
        (price(trial, outcome), trial.seconds_per_step),
        (memory(trial), trial.peak_bytes),
    )


def products(report: Report) -> Markup:
    """Every product at every setting."""
    headings = ("setting", "product", "shape", "side", "arithmetic", "bits", "worst error", "time", "source")
    rows = table(headings, map(_product, report.deliveries), numbers="lllllrrr", name="Products")
    told = f"{counted(len(report.deliveries), 'row')}: each tested matrix shape at each precision level"
    return tag("details", tag("summary", told), rows, class_="folded")


def _product(delivery: Delivery) -> tuple[Cell, ...]:
    time = delivery.milliseconds
    return (
        tag("b", delivery.setting),
        f"{delivery.op}{', batched' if delivery.batched else ''}",
        tag("code", delivery.shape),
        delivery.side,
        delivery.arithmetic.value,
        str(delivery.mantissa_bits),
        (f"{delivery.max_relative_error:.1e}", delivery.max_relative_error),
        ("-" if time is None else f"{time:.3g} ms", time),
        delivery.source,
    )
