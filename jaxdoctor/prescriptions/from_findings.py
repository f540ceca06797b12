"""What findings ask for, each as its own rule says."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from jaxdoctor.facts.finding import Finding
from jaxdoctor.facts.prescription import Prescription
from jaxdoctor.rules.rule import RULES


def advice(findings: Iterable[Finding]) -> Prescription:
    """What the findings ask for. What rollouts need comes with measured prices instead."""
    found = [_asked(finding) for finding in findings]
    return Prescription(
        settings=tuple(dict.fromkeys(setting for one in found for setting in one.settings)),
        removals=tuple(dict.fromkeys(removal for one in found for removal in one.removals)),
    )


def _asked(finding: Finding) -> Prescription:
    prescribes = prescriber(finding)
    return Prescription() if prescribes is None else prescribes(finding)


def prescriber(finding: Finding) -> Callable[[Finding], Prescription] | None:
    """What the rule of a finding says it prescribes; None: nothing, or the rule is of another version."""
    if finding.name not in RULES.names():
        return None
    rule = RULES.load(finding.name)
    return rule.prescribes if rule.code == finding.code else None
