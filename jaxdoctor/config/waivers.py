"""Which findings count: what is selected, weighed and ignored, and which subjects may stay unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase

from jaxdoctor.config.settings import HOSTILE, Allowance, Config, Waiver, matches, names_a_place
from jaxdoctor.facts.finding import Finding, Ignored, Severity, Skipped
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.fingerprint import Folders, folders, name_from
from jaxdoctor.rules.rule import RULES


def weighed(report: Report, config: Config) -> Report:
    """The report with the findings that are selected, as severe as configured; the ignored set aside."""
    where = folders(config.path)
    counted: list[Finding] = []
    used: set[Waiver] = set()
    ignored = list(report.ignored)
    for finding in report.findings:
        if not _selected(finding, config):
            continue
        finding = _weighed(finding, config)  # noqa: PLW2901 (the same finding, as severe as the user says)
        waiver = next((one for one in config.ignore if _covers(one, finding, where)), None)
        if waiver is None:
            counted.append(finding)
        else:
            used.add(waiver)
            ignored.append(Ignored(finding, waiver.reason))
    # One command sees a part of a project, so that only preflight can say that an entry is idle.
    whole = report.command == "preflight" or config.path is None
    idle = tuple(_named(one) for one in config.ignore if whole and one not in used)
    return replace(
        report,
        findings=tuple(counted),
        ignored=tuple(ignored),
        idle_ignores=tuple(dict.fromkeys((*report.idle_ignores, *idle))),
        skipped=(*report.skipped, *_unselected(report, config)),
        selected=config.select,
        allowed=_allowed(report, config, where),
        strict=config.strict,
        configured=None if config.path is None else str(config.path),
    )


def _named(waiver: Waiver) -> str:
    """As the command line writes it: "JD304:runs/*"."""
    return ":".join(part for part in (waiver.rule, waiver.path, waiver.leaf) if part)


def is_hostile(finding: Finding) -> bool:
    """Whether it says that a file may attack whoever loads it."""
    return (finding.code, finding.name) == HOSTILE


def _selected(finding: Finding, config: Config) -> bool:
    return not config.select or is_hostile(finding) or _is_selected(finding.code, finding.name, config)


def _is_selected(code: str, name: str, config: Config) -> bool:
    return any(matches(word, code, name) for word in config.select)


def _unselected(report: Report, config: Config) -> Iterator[Skipped]:
    """What was read, but judged by nothing, since no selected rule is about it.

    A selection of rules about updates would else make every scan of checkpoints a success.
    """
    if not config.select:
        return
    judging = {rule.code[:3] for rule in RULES.load_all() if _is_selected(rule.code, rule.name, config)}
    parts = (
        ("checkpoints", report.checkpoints, {"JD1", "JD3", "JD4"}),
        ("updates", report.signatures, {"JD1", "JD5"}),
        ("rollouts", report.outcomes, {"JD1", "JD2"}),
    )
    for what, examined, families in parts:
        if examined and not judging & families:
            reason = f"no rule of {', '.join(config.select)}, which alone are selected, is about them"
            yield Skipped(subject=what, reason=reason, asked=True)


def _weighed(finding: Finding, config: Config) -> Finding:
    if is_hostile(finding):
        return finding
    # The last word wins, so that `JD3: note` can stand before `JD301: error`.
    for word, severity in config.severity.items():
        if matches(word, finding.code, finding.name):
            finding = replace(finding, severity=Severity[severity.upper()])
    return finding


def _covers(waiver: Waiver, finding: Finding, where: Folders) -> bool:
    if is_hostile(finding) and not names_a_place(waiver.path):
        return False
    return (
        matches(waiver.rule, finding.code, finding.name)
        and _fits(waiver.path, name_from(where.base, finding.location.path))
        and _fits(waiver.leaf, finding.location.leaf)
    )


def _fits(pattern: str | None, value: str | None) -> bool:
    """Whether a pattern means the value, or a folder above it."""
    if pattern is None:
        return True
    plain = pattern.removeprefix("./").rstrip("/")
    return value is not None and (fnmatchcase(value, plain) or fnmatchcase(value, f"{plain}/*"))


def _allowed(report: Report, config: Config, where: Folders) -> dict[str, str]:
    """Subjects without a result that may be so, as the report names them or from the base on."""
    found: dict[str, str] = {}
    for one in report.unexamined:
        for entry in config.allow_unknown:
            if _means(entry, one.subject, where):
                found.setdefault(one.subject, entry.reason)
    return found


def _means(entry: Allowance, subject: str, where: Folders) -> bool:
    names = {subject, name_from(where.base, subject) or ""}
    return any(fnmatchcase(name, entry.subject.removeprefix("./").rstrip("/")) for name in names)


def idle_allowances(config: Config, names: Iterable[str]) -> tuple[str, ...]:
    """Entries of `allow-unknown` that mean none of these names, and nothing in one: mistyped, or old."""
    where = folders(config.path)
    known = [name_from(where.base, name) or name for name in names]

    def is_needed(entry: Allowance) -> bool:
        plain = entry.subject.removeprefix("./")
        return any(_means(entry, name, where) or plain.startswith(f"{name}/") for name in known)

    return tuple(entry.subject for entry in config.allow_unknown if not is_needed(entry))
