"""A report as Markdown, for pull requests, issues and GitHub's step summary."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Finding
from jaxdoctor.facts.histories import histories
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.text import clean, counted, shortened
from jaxdoctor.prescriptions.writers import write_python
from jaxdoctor.reports import behaviour, bundle_words
from jaxdoctor.reports.closed_loop import sentences as closed_loop
from jaxdoctor.reports.needed_products import answers
from jaxdoctor.reports.update_tables import COUNTER_HEADINGS, counter_rows, is_sweep, pivot
from jaxdoctor.reports.wording import (
    dtypes,
    error,
    extreme,
    first_bad,
    horizons,
    in_bytes,
    in_seconds,
    interval,
    machine,
    meaning,
    needs,
    number,
    percent,
    place,
    precision,
    price,
    recorded,
    replayable,
    signed,
    statistics,
    summary,
    tally,
    worth_showing,
)
from jaxdoctor.rules.pages import rules_of, url

MOST_FINDINGS = 500
"""GitHub cuts a step summary at 1 MiB and a comment at 65,536 letters."""

MOST_LETTERS = 300
STEERS = re.compile(r"([\\`*_{}\[\]<>|#~&])")
MENTION = re.compile(r"@(?=\w)")


def markdown(report: Report) -> str:
    """The whole report. No name in it makes a tag, a heading, an image or a mention."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"# jaxdoctor {text(report.command)}: {text(report.subject)}"
    yield ""
    yield f"**{text(tally(report.findings))}**{text(summary(report).removeprefix(tally(report.findings)))}."
    if report.partial:
        yield ""
        yield "Interrupted: partial report."
    sections = (
        _tests,
        _bundles,
        _findings,
        _machine,
        _rollouts,
        _checkpoints,
        _signatures,
        _aside,
        _prescription,
    )
    for section in sections:
        yield from section(report)


def text(value: object, most: int = MOST_LETTERS) -> str:
    """Words that Markdown shows as they are."""
    escaped = STEERS.sub(r"\\\1", shortened(clean(value), most))
    # "@name" would notify somebody; a zero-width joiner keeps it from that.
    return MENTION.sub("@\u200d", escaped)


def code(value: object, most: int = MOST_LETTERS) -> str:
    """Words in code type. A backtick inside would end it."""
    return f"`{shortened(clean(value), most).replace('`', chr(0x2BB)).replace('|', chr(0x2502))}`"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table of cells that are escaped already."""
    yield ""
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _tests(report: Report) -> Iterator[str]:
    if report.tests:
        yield ""
        yield "## Tests"
        rows = (
            (test.word, text(test.name), text(test.detail), in_seconds(test.seconds) if test.seconds else "")
            for test in report.tests
        )
        yield from table(("result", "test", "what was seen", "time"), rows)


def _findings(report: Report) -> Iterator[str]:
    if not report.findings:
        return
    most = _most(report)
    ordered = sorted(report.findings, key=lambda finding: -finding.severity)[:most]
    links = {known: url(rule) for known, rule in rules_of(ordered).items()}
    yield ""
    yield "## Findings"
    if report.statistics:
        rows = statistics(report.findings)
        counts = ((f"{number:,}", one.severity.word, f"{one.code} {text(one.name)}") for one, number in rows)
        yield from table(("findings", "severity", "rule"), counts)
        return
    yield from table(
        ("severity", "rule", "where", "what", "fix"), (_finding(finding, links) for finding in ordered)
    )
    if len(report.findings) > most:
        yield ""
        yield f"and {len(report.findings) - most:,} more."


def _most(report: Report) -> int:
    """How many rows a table has: in a file of its own, all."""
    return sys.maxsize if report.in_full else MOST_FINDINGS


def _finding(finding: Finding, links: dict[str, str]) -> tuple[str, ...]:
    link = links.get(finding.code)
    name = f"{finding.code} {text(finding.name)}"
    where = place(finding.location)
    return (
        finding.severity.word,
        f"[{name}]({link})" if link else name,
        code(where) if where else "",
        text(finding.message),
        text(finding.fix or ""),
    )


def _machine(report: Report) -> Iterator[str]:
    if report.environment is None:
        return
    yield ""
    yield "## Machine"
    yield ""
    for line in machine(report.environment):
        yield f"- {text(line)}"


def _bundles(report: Report) -> Iterator[str]:
    for bundle in report.bundles:
        yield ""
        yield f"## {text(bundle.bundle)}"
        yield ""
        yield f"{text(bundle_words.recorded(bundle))}."
        if bundle_words.elsewhere(bundle):
            yield ""
            yield f"Different here: {text(bundle_words.elsewhere(bundle))}."
        if bundle.viewer is not None:
            yield ""
            yield f"MuJoCo's viewer opens what stands in {code(bundle.viewer)}."
        rows = (tuple(map(text, bundle_words.row(bundle, run))) for run in bundle.runs)
        yield from table(bundle_words.HEADINGS, rows)


def _rollouts(report: Report) -> Iterator[str]:
    for outcome in report.outcomes:
        yield ""
        yield f"## {text(outcome.subject)}: margin {signed(outcome)}"
        yield ""
        yield f"{text(meaning(outcome))}; {text(needs(outcome))}."
        needed = [f"- {text(line)}" for line in chain(behaviour.sentences(outcome), answers(outcome))]
        yield from ["", *needed] if needed else []
        if outcome.loop is not None:
            yield ""
            yield from (f"- {text(sentence, sys.maxsize)}" for sentence in closed_loop(outcome))
        if outcome.bundle is not None:
            yield ""
            yield f"{text(recorded(outcome))}."
        if outcome.trials:
            yield from _trials(outcome)


def _trials(outcome: Outcome) -> Iterator[str]:
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
    )
    rows = (
        (
            code(precision(trial)),
            trial.kind.value,
            str(trial.precision.mantissa_bits),
            f"{trial.failed} of {trial.replays}",
            interval(trial),
            text(first_bad(trial)),
            text(horizons(trial)),
            error(trial),
            price(trial, outcome),
        )
        for trial in worth_showing(outcome)
    )
    yield from table(headings, rows)


def _checkpoints(report: Report) -> Iterator[str]:
    if report.checkpoints:
        yield ""
        yield "## Checkpoints"
        rows = (
            (
                code(checkpoint.path),
                text(checkpoint.format),
                number(checkpoint.step),
                str(len(checkpoint.leaves)),
                in_bytes(checkpoint.bytes_total),
                in_bytes(checkpoint.bytes_read),
                text(dtypes(checkpoint)),
            )
            for checkpoint in report.checkpoints[: _most(report)]
        )
        yield from table(("checkpoint", "format", "step", "leaves", "on disk", "read", "dtypes"), rows)
        if (line := replayable(report)) is not None:
            yield ""
            yield text(line)
    if report.with_leaves:
        for checkpoint in report.checkpoints:
            yield from _leaves(checkpoint, _most(report))
    for series in report.series:
        counters = histories(series)
        if counters:
            yield ""
            yield f"### Counters of {text(series.path)}"
            rows_of_counters = (
                (code(one.leaf), text(one.dtype), number(one.last), number(one.limit), percent(one.share))
                for one in counters
            )
            yield from table(("counter", "dtype", "last", "limit", "used"), rows_of_counters)


def _leaves(checkpoint: Checkpoint, most: int) -> Iterator[str]:
    yield ""
    yield f"### Leaves of {text(checkpoint.path)}"
    rows = (
        (
            code(leaf.path),
            text(leaf.dtype),
            "x".join(map(str, leaf.shape)) or "scalar",
            leaf.role.value,
            extreme(None if leaf.statistics is None else leaf.statistics.minimum),
            extreme(None if leaf.statistics is None else leaf.statistics.maximum),
            number(None if leaf.statistics is None else leaf.statistics.nonfinite),
        )
        for leaf in checkpoint.leaves[:most]
    )
    yield from table(("leaf", "dtype", "shape", "role", "minimum", "maximum", "not finite"), rows)


def _signatures(report: Report) -> Iterator[str]:
    if is_sweep(report.signatures):
        headings, rows = pivot(report.signatures)
        yield from table(headings, ([text(cell) for cell in row] for row in rows))
        return
    for signature in report.signatures:
        rounds = "never" if signature.rounds is None else f"after {counted(signature.rounds, 'call')}"
        yield ""
        yield f"## {text(signature.target)}"
        yield ""
        leaves = counted(len(signature.leaves), "leaf", "leaves")
        yield f"Its types settle {rounds}; {leaves}; {signature.setting}."
        if signature.counters:
            counting = ([text(cell) for cell in row] for row in counter_rows(signature))
            yield from table(COUNTER_HEADINGS, counting)


def _aside(report: Report) -> Iterator[str]:
    if report.ignored:
        yield ""
        yield "## Ignored"
        yield ""
        for ignored in report.ignored[: _most(report)]:
            finding = ignored.finding
            where = place(finding.location)
            subject = f"{finding.code} {text(finding.name)} {code(where) if where else ''}"
            yield f"- {subject}: {text(ignored.reason)}"
    if report.idle_ignores or report.idle_allowances:
        yield ""
        yield from (f"- ignore {code(idle)}: no finding fits it, it can go" for idle in report.idle_ignores)
        unnamed = "nothing here is named so, it can go"
        yield from (f"- allow-unknown {code(idle)}: {unnamed}" for idle in report.idle_allowances)
    if report.unexamined:
        yield ""
        yield "## Not examined"
        yield ""
        for skipped in report.unexamined[: _most(report)]:
            allowed = report.allowed.get(skipped.subject)
            why = f" (allowed: {text(allowed)})" if allowed else ""
            yield f"- {code(skipped.subject)}: {text(skipped.reason)}{why}"
    if report.reused:
        yield ""
        yield "## Unchanged"
        yield ""
        for reused in report.reused[: _most(report)]:
            yield f"- {code(reused.subject)}: its result of {text(reused.when)} is reused"


def _prescription(report: Report) -> Iterator[str]:
    if report.prescription is None:
        return
    yield ""
    yield "## What to set"
    yield ""
    yield "```python"
    # A reason is one line of a comment, so no line of it can close the block.
    yield write_python(report.prescription).rstrip("\n")
    yield "```"
