"""Repeated findings made one, and the checkpoint to go back to named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Finding, Severity
from jaxdoctor.facts.text import counted
from jaxdoctor.storage.steps import named_step

FILES_NAMED = 4


def together(judged: Iterable[tuple[object, Finding]]) -> list[Finding]:
    """One finding for a fault that later checkpoints still have, or that several files of one have.

    `judged` has each finding with the fact that it is about.
    """
    groups: dict[object, list[tuple[object, Finding]]] = {}
    for fact, finding in judged:
        key = (finding.code, finding.location.leaf, finding.severity, _same(finding))
        groups.setdefault(key, []).append((id(fact), finding))
    return [_one(group) for group in groups.values()]


def _same(finding: Finding) -> str | None:
    """What else must agree: a finding about no leaf is distinguished by its words without numbers."""
    if finding.location.leaf is not None:
        return None
    return "".join(letter for letter in finding.message if not letter.isdigit())


LAST_CLEAN = "the last clean checkpoint"
"""What a fix calls the checkpoint to go back to, where its name can be put in."""


def _one(group: Sequence[tuple[object, Finding]]) -> Finding:
    fact, first = group[0]
    files = [finding.location.path for owner, finding in group if owner == fact]
    later = [finding.location.path for owner, finding in group if owner != fact]
    others = _others(files, first), _others(later, first)
    parts, evidence = [first.message], dict(first.evidence)
    if others[0]:
        named = ", ".join(Path(path).name for path in others[0][:FILES_NAMED])
        parts.append(f"also in {counted(len(others[0]), 'other file')} ({named})")
        evidence["other_files"] = others[0]
    if others[1]:
        parts.append(f"also in {counted(len(others[1]), 'later checkpoint')}")
        evidence["also_in"] = others[1]
    return replace(first, message="; ".join(parts), evidence=evidence)


def _others(paths: Iterable[str | None], first: Finding) -> list[str]:
    return [path for path in dict.fromkeys(paths) if path is not None and path != first.location.path]


def with_last_clean(
    findings: Iterable[Finding], checkpoints: Sequence[Checkpoint], ill: set[str]
) -> list[Finding]:
    """The findings of a run, with the newest clean checkpoint in each fix that is to go back to one.

    `ill` has the paths of the checkpoints that are not clean. Of a checkpoint alone, nothing is named.
    """
    if len(checkpoints) < 2:  # noqa: PLR2004 (there is no other one to go back to)
        return list(findings)
    clean = [saved for saved in checkpoints if saved.finished and saved.path not in ill]
    return [_going_back(finding, clean) if finding.go_back else finding for finding in findings]


def _going_back(finding: Finding, clean: Sequence[Checkpoint]) -> Finding:
    newest = clean[-1].path if clean else None
    sentence = "no checkpoint of this run is clean"
    if newest is not None:
        # Where a later one is clean, nobody need go back.
        later = (clean[-1].step or 0) > (finding.location.step or 0) and finding.location.step is not None
        which = "a later checkpoint is clean:" if later else f"{LAST_CLEAN} is"
        sentence = f"{which} `{_called(Path(newest))}`"
    fix = sentence if finding.fix is None else f"{finding.fix}; {sentence}"
    if newest is not None and LAST_CLEAN in (finding.fix or ""):
        fix = (finding.fix or "").replace(LAST_CLEAN, f"`{_called(Path(newest))}`, {LAST_CLEAN},")
    return replace(finding, fix=fix, evidence={**finding.evidence, "last_clean": newest})


def _called(path: Path) -> str:
    """Its name, with its folder's where only that has the step."""
    own = named_step(path.name) is not None or named_step(path.parent.name) is None
    return path.name if own else f"{path.parent.name}/{path.name}"


def are_ill(judged: Iterable[tuple[object, Finding]]) -> set[str]:
    """The paths of the checkpoints that nobody should go back to."""
    found = set()
    for fact, finding in judged:
        if finding.severity is Severity.ERROR or (finding.go_back and finding.severity > Severity.NOTE):
            found.add(fact.path if isinstance(fact, Checkpoint) else finding.location.path or "")
    return found
