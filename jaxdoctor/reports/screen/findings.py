"""Findings, those of one rule together, with the line of source that they point at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console

from jaxdoctor.facts.finding import Finding, Location
from jaxdoctor.facts.report import Report
from jaxdoctor.facts.text import clean, counted, cut_left
from jaxdoctor.prescriptions.writers import write_python
from jaxdoctor.reports.screen.lines import GREY, HANGING, STYLES, Part, copied, say
from jaxdoctor.reports.wording import place, statistics, tally
from jaxdoctor.rules.pages import rules_of, url

MOST_FINDINGS = 50
"""A terminal shows so many and counts the rest; files hold all of them."""

MOST_OF_A_KIND = 12
"""Of one rule about one subject."""

MOST_LETTERS = 300
"""A leaf's path that is longer loses its beginning."""


def found(report: Report, console: Console) -> None:
    """Findings in the order of the report, those of one rule together, and the pages of their rules."""
    if not report.findings:
        return
    console.print()
    if report.statistics:
        for one, number in statistics(report.findings):
            severity = (f"{one.severity.word:9}", "")
            say(console, f"{number:>6,}  ", (f"{one.code}  ", "bold"), severity, one.name)
        return
    shown = list(report.findings) if report.in_full else _within_bounds(report.findings)
    links = {code: url(rule) for code, rule in rules_of(shown).items()}
    for group in _groups(shown):
        _group(group, links.get(group[0].code), console)
    if len(report.findings) > len(shown):
        kept = set(map(id, shown))
        rest = tally([finding for finding in report.findings if id(finding) not in kept])
        say(console, f"and {rest} more; --output FILE holds all of them")
    _pages(links, console)


def _within_bounds(findings: Sequence[Finding]) -> list[Finding]:
    """The first of each kind, and of all of them."""
    counts: Counter[object] = Counter()
    shown = []
    for finding in findings:
        kind = finding.code, finding.location.path, finding.severity
        counts[kind] += 1
        if counts[kind] <= MOST_OF_A_KIND:
            shown.append(finding)
    return shown[:MOST_FINDINGS]


def _groups(findings: Iterable[Finding]) -> Iterable[list[Finding]]:
    """Findings of one rule and severity together, at the place of the first of them."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.name, finding.severity.word), []).append(finding)
    return groups.values()


def _group(group: list[Finding], link: str | None, console: Console) -> None:
    first = group[0]
    code = (f"{first.code}", f"bold link {link}" if link and console.is_terminal else "bold")
    head: list[Part] = [code, " ", (first.severity.word, STYLES[first.severity]), f" {first.name}: "]
    if len(group) == 1:
        say(console, *head, first.message)
        _where(first.location, console, HANGING)
        if first.fix:
            say(console, ("fix: ", "bold"), first.fix, indent=HANGING)
        return
    say(console, *head, counted(len(group), "place"))
    same = {finding.fix for finding in group}
    for finding in group:
        say(console, finding.message, indent=HANGING)
        _where(finding.location, console, 2 * HANGING)
        if finding.fix and len(same) > 1:
            say(console, ("fix: ", "bold"), finding.fix, indent=2 * HANGING)
    if first.fix and len(same) == 1:
        say(console, (f"fix, of all {len(group):,}: ", "bold"), first.fix, indent=HANGING)


def _where(location: Location, console: Console, indent: int) -> None:
    """The place, cut on the left where it would not fit, and the line of source with a mark below it."""
    where = clean(place(location))
    if not where:
        return
    word = "at " if _is_place(location) else "for "
    most = MOST_LETTERS if console.soft_wrap else min(MOST_LETTERS, max(console.width - indent - 8, 20))
    say(console, word, _fitting(location, most) if len(where) > most else where, indent=indent)
    if location.source is not None:
        _source(location, console, indent)


def _is_place(location: Location) -> bool:
    """Whether something can be opened or counted to there: not a card, a machine or a whole model."""
    known = (location.file, location.leaf, location.step, location.line)
    return any(part is not None for part in known) or "/" in (location.path or "")


def _fitting(location: Location, most: int) -> str:
    """Each of the names cut on the left, so that the ends of all of them are seen."""
    words = clean(place(location)).split(" ")
    longest = max(range(len(words)), key=lambda index: len(words[index]))
    rest = sum(map(len, words)) + len(words) - 1 - len(words[longest])
    words[longest] = cut_left(words[longest], max(most - rest, 16))
    return " ".join(words)


def _source(location: Location, console: Console, indent: int) -> None:
    """The line with its number, and carets below what it says."""
    source = clean(location.source or "")
    number = f"{location.line}"
    inner = source.lstrip()
    most = max(console.width - indent - len(number) - 4, 20)
    shown = inner if console.soft_wrap or len(inner) <= most else f"{inner[: most - 1]}…"
    margin = " " * indent
    copied(console, (f"{margin}{number} | ", GREY), shown)
    copied(console, (f"{margin}{' ' * len(number)} | ", GREY), ("^" * len(shown), "bold"))


def _pages(links: dict[str, str], console: Console) -> None:
    """How to read about each rule that found something."""
    if not links:
        return
    if console.is_terminal and not console.no_color:
        parts: list[Part] = [("pages: ", "bold"), "jaxdoctor rule"]
        for code, link in links.items():
            parts += [" ", (code, f"link {link}")]
        say(console, *parts)
        return
    say(console, ("pages: ", "bold"), f"jaxdoctor rule {' '.join(links)}")
    for code, link in links.items():
        copied(console, f"    {code} {link}")


def prescribed(report: Report, console: Console) -> None:
    """What to set, as Python."""
    if report.prescription is None:
        return
    console.print()
    for line in write_python(report.prescription).splitlines():
        copied(console, (line, "" if line.startswith("#") else "bold"))
