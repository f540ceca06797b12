"""The sections of the page, each drawn only when the report has something for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxdoctor.checkpoint import Checkpoint, Series
from jaxdoctor.compatibility import COUNTER_HEADINGS, counter_rows, is_sweep, pivot
from jaxdoctor.counters import History, histories
from jaxdoctor.delivery import Delivery
from jaxdoctor.finding import Finding
from jaxdoctor.outcome import Outcome, Verdict
from jaxdoctor.pages import rules_of, url
from jaxdoctor.prescription import WRITERS
from jaxdoctor.report import Report
from jaxdoctor.rule import Rule
from jaxdoctor.signature import LeafSignature, Signature
from jaxdoctor.trial import Trial
from jaxdoctor.web.counter_chart import COLOURS, counter_chart
from jaxdoctor.web.horizon_chart import horizon_chart
from jaxdoctor.web.markup import Cell, Markup, joined, path, table, tag
from jaxdoctor.web.share_chart import share_chart
from jaxdoctor.wording import (
    counted,
    driven,
    dtypes,
    error,
    evidence,
    first_bad,
    horizons,
    in_bytes,
    interval,
    machine,
    meaning,
    memory,
    needs,
    number,
    percent,
    place,
    precision,
    price,
    shortened,
    signed,
)

MOST_LETTERS = 240
"""Of evidence; JSON has all of it."""

Draw = Callable[[Report], Markup]
TONES = {Verdict.HEALTHY: "good", Verdict.UNKNOWN: "warn", Verdict.PRECISION: "bad", Verdict.MODEL: "bad"}


def present(report: Report) -> Iterator[tuple[str, str, Draw]]:
    """Name, title and drawing of each section that has something to show."""
    for name, title, draw, has in (
        ("findings", "Findings", _findings, bool(report.findings)),
        ("set", "What to set", _prescription, report.prescription is not None),
        ("rollouts", "Rollouts", _rollouts, bool(report.outcomes)),
        ("products", "Products", _products, bool(report.deliveries)),
        ("checkpoints", "Checkpoints", _checkpoints, bool(report.checkpoints or report.series)),
        ("updates", "Updates", _signatures, bool(report.signatures)),
        ("left-out", "Left out", _left_out, bool(report.ignored or report.skipped)),
        ("machine", "Machine", _machine, report.environment is not None),
    ):
        if has:
            yield name, title, draw


def _findings(report: Report) -> Markup:
    known = rules_of(report.findings)
    ordered = sorted(report.findings, key=lambda finding: -finding.severity)
    words = list(dict.fromkeys(finding.severity.word for finding in ordered))
    buttons = [
        tag("button", word, type="button", class_=f"pill {word}", data_severity=word, aria_pressed="true")
        for word in words
    ]
    find = tag("input", type="search", placeholder="filter", aria_label="filter the findings")
    return joined(
        [
            tag("div", *buttons, find, tag("span", class_="shown", aria_live="polite"), class_="filter"),
            table(
                ("severity", "rule", "where", "what was seen"),
                (_finding(finding, known.get(finding.code)) for finding in ordered),
                name="Findings",
            ),
        ]
    )


def _finding(finding: Finding, rule: Rule | None) -> tuple[Cell, ...]:
    name = joined([tag("b", finding.code), f" {finding.name}"])
    linked = tag("a", name, href=url(rule), title=rule.summary, rel="noreferrer") if rule else name
    seen = [tag("p", finding.message)]
    if finding.fix:
        seen.append(tag("p", tag("span", "fix", class_="word"), finding.fix, class_="fix"))
    if finding.evidence:
        seen.append(tag("p", shortened(evidence(finding.evidence), MOST_LETTERS), class_="evidence"))
    return (
        (tag("span", finding.severity.word, class_=f"pill {finding.severity.word}"), -finding.severity),
        (linked, finding.code),
        path(place(finding.location)),
        joined(seen),
    )


def _prescription(report: Report) -> Markup:
    prescription = report.prescription
    assert prescription is not None
    parts = [
        tag(
            "details",
            tag("summary", name),
            tag("button", "copy", type="button", class_="copy"),
            tag("pre", tag("code", _kept_lines(write(prescription)))),
            open="" if name == "python" else None,
        )
        for name, write in WRITERS.items()
    ]
    return tag("div", *parts, class_="snippets")


def _kept_lines(words: str) -> Markup:
    return Markup("\n".join(joined([line]) for line in words.rstrip("\n").split("\n")))


def _rollouts(report: Report) -> Markup:
    overview = Markup()
    if len(report.outcomes) > 1:
        headings = ("rollout", "verdict", "requires", "delivered", "margin")
        overview = table(headings, map(_overview, report.outcomes), numbers="llrrr", name="Rollouts")
    return joined([overview, *map(_rollout, report.outcomes)])


def _overview(outcome: Outcome) -> tuple[Cell, ...]:
    built = f", built to be {outcome.expected}" if outcome.expected is not None else ""
    return (
        path(outcome.subject),
        joined([tag("span", str(outcome.verdict), class_=f"pill {TONES[outcome.verdict]}"), built]),
        number(outcome.required_bits),
        number(outcome.delivered_bits),
        (signed(outcome), outcome.margin_bits),
    )


def _rollout(outcome: Outcome) -> Markup:
    said = joined([tag("p", meaning(outcome), "; ", needs(outcome), "."), tag("p", driven(outcome))])
    heading = tag("h3", path(outcome.subject), f" margin {signed(outcome)}")
    if not outcome.trials:
        return tag("article", heading, said)
    charts = [
        _figure(
            share_chart(outcome),
            "Share of replays that failed, by mantissa bits, with the Wilson 95 % interval. "
            "Dots are emulated, diamonds ran natively.",
        ),
        _figure(
            horizon_chart(outcome),
            "Steps until a replay parts from x64. The tick is where chaos alone parts it: "
            "a bar that reaches the tick loses nothing to precision.",
        ),
    ]
    return tag("article", heading, said, tag("div", *charts, class_="figures"), _trials(outcome))


def _figure(drawn: Markup, words: str) -> Markup:
    return tag("figure", drawn, tag("figcaption", words)) if drawn else Markup()


def _trials(outcome: Outcome) -> Markup:
    headings = (
        "precision",
        "kind",
        "bits",
        "failed",
        "95 %",
        "first bad",
        "horizon / chaos",
        "one-step error",
        "price",
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
        (price(trial, outcome.trials), trial.seconds_per_step),
        (memory(trial), trial.peak_bytes),
    )


def _products(report: Report) -> Markup:
    headings = ("setting", "product", "shape", "side", "arithmetic", "bits", "worst error", "time", "source")
    return table(headings, map(_product, report.deliveries), numbers="lllllrrr", name="Products")


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


def _checkpoints(report: Report) -> Markup:
    parts = [_series(series) for series in report.series]
    if report.checkpoints:
        headings = ("checkpoint", "format", "step", "leaves", "on disk", "read", "dtypes by role")
        rows = map(_checkpoint, report.checkpoints)
        parts.append(table(headings, rows, numbers="llrrrrl", name="Checkpoints"))
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


def _series(series: Series) -> Markup:
    counters = sorted(histories(series), key=lambda history: history.share, reverse=True)
    heading = tag("h3", tag("code", series.path), f" {counted(len(series.checkpoints), 'checkpoint')}")
    if not counters:
        return tag("article", heading)
    at = [checkpoint.step for checkpoint in series.checkpoints]
    drawn = _figure(
        counter_chart(counters, at),
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


def _signatures(report: Report) -> Markup:
    if is_sweep(report.signatures):
        headings, rows = pivot(report.signatures)
        return table(headings, rows, name="Update functions")
    return joined(map(_signature, report.signatures))


def _signature(signature: Signature) -> Markup:
    heading = tag("h3", tag("code", signature.target), f" {signature.setting}")
    if signature.refused is not None:
        return tag("article", heading, tag("p", f"unknown: {signature.refused}"))
    rounds = (
        "never settle" if signature.rounds is None else f"settle after {counted(signature.rounds, 'call')}"
    )
    name = f"Leaves of {signature.target}"
    parts = [table(("leaf", "in", "out", "changes"), map(_leaf, signature.leaves), name=name)]
    if signature.counters:
        name = f"Counters of {signature.target}"
        parts.append(table(COUNTER_HEADINGS, counter_rows(signature), numbers="llrlrr", name=name))
    return tag("article", heading, tag("p", f"The types of its state {rounds}."), *parts)


def _leaf(leaf: LeafSignature) -> tuple[Cell, ...]:
    before = _side(leaf.dtype_in, leaf.shape_in, weak=leaf.weak_in)
    after = _side(leaf.dtype_out, leaf.shape_out, weak=leaf.weak_out)
    changes = tag("span", "yes", class_="pill bad") if before != after else "no"
    return path(leaf.path), before, after, changes


def _side(dtype: str | None, shape: tuple[int, ...] | None, *, weak: bool) -> str:
    extent = "" if shape is None else f"[{','.join(map(str, shape))}]"
    return "-" if dtype is None else f"{dtype}{extent}{' weak' if weak else ''}"


def _left_out(report: Report) -> Markup:
    rows: list[tuple[Cell, ...]] = [
        (path(skipped.subject), "not examined", skipped.reason) for skipped in report.skipped
    ]
    rows += [
        (
            joined([f"{one.finding.code} {one.finding.name} ", path(place(one.finding.location))]),
            "ignored",
            one.reason,
        )
        for one in report.ignored
    ]
    return table(("what", "how", "why"), rows, name="Left out")


def _machine(report: Report) -> Markup:
    assert report.environment is not None
    lines = zip(("machine", "versions", "settings"), machine(report.environment), strict=True)
    return tag("dl", *(joined([tag("dt", word), tag("dd", line)]) for word, line in lines))
