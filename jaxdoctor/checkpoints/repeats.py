"""Repeated findings made one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jaxdoctor.facts.finding import Finding

LISTED = 12
"""Findings of one rule about one checkpoint that are shown; the last of them counts the others."""


def together(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for an illness that later checkpoints still have, and a bound on those of one rule."""
    first: dict[object, Finding] = {}
    later: dict[object, list[str]] = {}
    for finding in findings:
        key = (finding.code, finding.location.leaf, finding.severity, _same(finding))
        if first.setdefault(key, finding) is not finding:
            later.setdefault(key, []).append(finding.location.path or "")
    return _bounded([_also(finding, later.get(key, [])) for key, finding in first.items()])


def _same(finding: Finding) -> str | None:
    """What else must agree: a finding about no leaf is told from others by its words without numbers."""
    if finding.location.leaf is not None:
        return None
    return "".join(letter for letter in finding.message if not letter.isdigit())


def _also(finding: Finding, paths: list[str]) -> Finding:
    others = [path for path in dict.fromkeys(paths) if path != finding.location.path]
    if not others:
        return finding
    return replace(
        finding,
        message=f"{finding.message}; so do {len(others)} later checkpoints",
        evidence={**finding.evidence, "also_in": others},
    )


def _bounded(findings: list[Finding]) -> list[Finding]:
    counts: dict[object, int] = {}
    for finding in findings:
        key = _kind(finding)
        counts[key] = counts.get(key, 0) + 1
    shown: list[Finding] = []
    seen: dict[object, int] = {}
    for finding in findings:
        key = _kind(finding)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] < LISTED or counts[key] == LISTED:
            shown.append(finding)
        elif seen[key] == LISTED:
            more = counts[key] - LISTED
            shown.append(
                replace(
                    finding,
                    message=f"{finding.message}; and {more} more like this",
                    evidence={**finding.evidence, "more": more},
                )
            )
    return shown


def _kind(finding: Finding) -> tuple[str, str | None, int]:
    return finding.code, finding.location.path, finding.severity
