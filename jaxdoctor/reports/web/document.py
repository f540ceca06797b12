"""The page around the sections. Its policy lets nothing be fetched and no script run but its own."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from jaxdoctor import __version__
from jaxdoctor.errors import FINDINGS, MISUSE, NOTHING_EXAMINED
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.run import Run
from jaxdoctor.reports.web import sections
from jaxdoctor.reports.web.markup import Markup, joined, tag, text
from jaxdoctor.reports.wording import (
    examined,
    in_seconds,
    meaning,
    needs,
    scale,
    signed,
    summary,
    tally,
    worst,
)

CALM = {Verdict.HEALTHY: "good", Verdict.UNKNOWN: "warn"}


def document(report: Report) -> str:
    """The whole report as one HTML file."""
    style, script = _asset("style.css"), _asset("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"jaxdoctor {report.command}: {report.subject}"),
        tag("style", Markup(style)),
    )
    body = tag(
        "body",
        _header(report),
        _navigation(report),
        _main(report),
        _footer(report),
        tag("script", Markup(script)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _asset(name: str) -> str:
    return files("jaxdoctor.reports.web").joinpath(name).read_text(encoding="utf-8")


def _header(report: Report) -> Markup:
    lead = worst(report.outcomes)
    cards = [*([] if lead is None else [_margin_card(lead)]), _findings_card(report), _examined_card(report)]
    partial = tag("p", "Interrupted: partial report.", class_="banner") if report.partial else ""
    return tag(
        "header",
        tag("p", f"jaxdoctor {report.command}", class_="over"),
        tag("h1", report.subject),
        _made(report.run),
        partial,
        tag("div", *cards, class_="cards"),
    )


def _made(run: Run | None) -> Markup:
    """When, where, by what call and with which versions."""
    if run is None:
        return Markup()
    when = tag("time", f"{run.began[:10]} {run.began[11:16]} UTC", datetime=run.began)
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    parts = [when, f" on {run.host}, in {in_seconds(run.seconds)}, {versions}: ", tag("code", run.command)]
    return tag("p", *parts, class_="made")


def _margin_card(outcome: Outcome) -> Markup:
    tone = CALM.get(outcome.verdict, "bad")
    return tag(
        "section",
        tag("h2", "Margin"),
        tag("p", signed(outcome), class_=f"big {tone}"),
        bits_bar(outcome),
        tag("p", f"{outcome.subject} {needs(outcome)}"),
        tag(
            "p", tag("span", str(outcome.verdict), class_=f"pill {tone}"), meaning(outcome).partition(":")[2]
        ),
        class_="card wide",
    )


def bits_bar(outcome: Outcome) -> Markup:
    """A cell for each bit, as the terminal draws it."""
    required, delivered = outcome.required_bits or 0, outcome.delivered_bits or 0
    unknown = outcome.margin_bits is None

    def kind(bit: int) -> str:
        if unknown or bit >= max(required, delivered):
            return "beyond"
        return "needed" if bit < min(required, delivered) else "spare" if bit < delivered else "missing"

    cells = joined(tag("i", class_=kind(bit)) for bit in range(scale(outcome)))
    return tag("div", cells, class_="bits", role="img", aria_label=needs(outcome))


def _findings_card(report: Report) -> Markup:
    words = ("error", "warning", "note")
    numbers = [sum(finding.severity.word == word for finding in report.findings) for word in words]
    counts = joined(
        tag(
            "span",
            tag("b", f"{count:,}"),
            f" {word}{'' if count == 1 else 's'}",
            class_=f"count {word if count else 'none'}",
        )
        for word, count in zip(words, numbers, strict=True)
    )
    return tag("section", tag("h2", "Findings"), tag("div", counts, class_="counts"), class_="card")


ENDINGS = {
    FINDINGS: "findings fail it",
    MISUSE: "what was named is not there",
    NOTHING_EXAMINED: "something that was asked for was not examined",
}


def _ending(code: int) -> str:
    """The exit code with its meaning: "exit code 1: findings fail it"."""
    meaning = ENDINGS.get(code, "passed" if code == 0 else "interrupted")
    return f"exit code {code}: {meaning}"


def _examined_card(report: Report) -> Markup:
    left = [
        f"{len(report.unexamined)} not examined" if report.unexamined else "",
        f"{len(report.ignored)} ignored" if report.ignored else "",
    ]
    words = ", ".join(part for part in left if part) or "nothing left out"
    return tag(
        "section",
        tag("h2", "Examined"),
        tag("p", f"{report.examined:,}", class_="big"),
        tag("p", examined(report).removeprefix(f"{report.examined:,} ")),
        tag("p", words),
        tag("p", _ending(report.exit_code(report.fail_on))),
        class_="card",
    )


def _navigation(report: Report) -> Markup:
    links = [tag("a", title, href=f"#{name}") for name, title, _ in sections.present(report)]
    return tag("nav", *links) if len(links) > 1 else Markup()


def _main(report: Report) -> Markup:
    drawn = [
        tag("section", tag("h2", title), draw(report), id=name)
        for name, title, draw in sections.present(report)
    ]
    return tag("main", *drawn) if drawn else tag("main", tag("p", tally(report.findings), class_="empty"))


def _footer(report: Report) -> Markup:
    return tag("footer", tag("p", f"Written by jaxdoctor {__version__}"), tag("p", text(summary(report))))
