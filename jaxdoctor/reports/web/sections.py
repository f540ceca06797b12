"""The sections of the page, each drawn only when the report has something for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxdoctor.facts.finding import Finding, Skipped
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.text import shortened
from jaxdoctor.prescriptions.writers import WRITERS
from jaxdoctor.reports.web.bundles import bundles
from jaxdoctor.reports.web.markup import Cell, Markup, joined, path, table, tag
from jaxdoctor.reports.web.rollouts import products, rollouts
from jaxdoctor.reports.web.saved import checkpoints
from jaxdoctor.reports.web.updates import updates
from jaxdoctor.reports.wording import evidence, in_seconds, machine, place
from jaxdoctor.rules.pages import rules_of, url
from jaxdoctor.rules.rule import Rule

MOST_LETTERS = 240
"""Of evidence; JSON has all of it."""

Draw = Callable[[Report], Markup]


def present(report: Report) -> Iterator[tuple[str, str, Draw]]:
    """Name, title and drawing of each section that has something to show."""
    for name, title, draw, has in (
        ("tests", "Tests", _tests, bool(report.tests)),
        ("findings", "Findings", _findings, bool(report.findings)),
        ("set", "What to set", _prescription, report.prescription is not None),
        ("rollouts", "Rollouts", rollouts, bool(report.outcomes)),
        ("bundles", "Bundles", bundles, bool(report.bundles)),
        ("products", "Products", products, bool(report.deliveries)),
        ("checkpoints", "Checkpoints", checkpoints, bool(report.checkpoints or report.series)),
        ("updates", "Updates", updates, bool(report.signatures)),
        ("left-out", "Left out", _left_out, bool(report.ignored or report.unexamined or report.reused)),
        ("machine", "Machine", _machine, report.environment is not None),
    ):
        if has:
            yield name, title, draw


TONES = {True: "good", False: "bad", None: "warn"}


def _tests(report: Report) -> Markup:
    rows: list[tuple[Cell, ...]] = [
        (
            tag("span", test.word, class_=f"pill {TONES[test.passed]}"),
            test.name,
            test.detail,
            "" if test.seconds is None else in_seconds(test.seconds),
        )
        for test in report.tests
    ]
    return table(("result", "test", "what was seen", "time"), rows, name="Tests")


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
    if finding.location.source is not None:
        source = f"{finding.location.line} | {finding.location.source.strip()}"
        seen.append(tag("pre", tag("code", source), class_="source"))
    if finding.fix:
        seen.append(tag("p", tag("span", "fix", class_="word"), finding.fix, class_="fix"))
    if finding.evidence:
        seen.append(tag("p", shortened(evidence(finding.evidence), MOST_LETTERS), class_="evidence"))
    return (
        (tag("span", finding.severity.word, class_=f"pill {finding.severity.word}"), -finding.severity),
        (linked, finding.code),
        path(shortened(place(finding.location), MOST_LETTERS)),
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


def _left_out(report: Report) -> Markup:
    rows: list[tuple[Cell, ...]] = [
        (path(skipped.subject), "not examined", _reason(skipped, report)) for skipped in report.unexamined
    ]
    rows += [(path(one.subject), "unchanged", f"its result of {one.when} is reused") for one in report.reused]
    rows += [
        (
            joined([f"{one.finding.code} {one.finding.name} ", path(place(one.finding.location))]),
            "ignored",
            one.reason,
        )
        for one in report.ignored
    ]
    rows += [(path(idle), "ignore", "no finding fits it, it can go") for idle in report.idle_ignores]
    unnamed = "nothing here is named so, it can go"
    rows += [(path(idle), "allow-unknown", unnamed) for idle in report.idle_allowances]
    return table(("what", "how", "why"), rows, name="Left out")


def _reason(skipped: Skipped, report: Report) -> str:
    allowed = report.allowed.get(skipped.subject)
    return f"{skipped.reason} (allowed: {allowed})" if allowed else skipped.reason


def _machine(report: Report) -> Markup:
    assert report.environment is not None
    lines = zip(("machine", "versions", "settings"), machine(report.environment), strict=True)
    return tag("dl", *(joined([tag("dt", word), tag("dd", line)]) for word, line in lines))
