"""Facts times rules gives findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jaxdoctor.facts.finding import Finding
from jaxdoctor.rules.rule import RULES, Rule


def diagnose(facts: Iterable[Any], rules: Iterable[Rule] | None = None) -> Iterator[Finding]:
    """Every finding about the facts, fact by fact, rules in the order of their codes."""
    chosen = sorted(RULES.load_all() if rules is None else rules, key=lambda rule: rule.code)
    by_type: dict[type, list[Rule]] = {}
    for rule in chosen:
        by_type.setdefault(rule.about, []).append(rule)
    for fact in facts:
        for rule in by_type.get(type(fact), ()):
            yield from rule.judge(fact)
