"""The contract of a rule: a function of one fact that yields hits."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from jaxdoctor.errors import UnknownNameError
from jaxdoctor.facts.finding import Finding, Hit, Severity
from jaxdoctor.facts.prescription import Prescription
from jaxdoctor.registry import Folder

Hits = Iterator[Hit]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One illness, and how to see it in a fact."""

    code: str
    """"JD301". JD1xx environment, JD2xx precision, JD3xx checkpoint, JD4xx run, JD5xx update."""

    name: str
    """"nonfinite-values": names the illness, not the cure, and is the name of its file, test and page."""

    severity: Severity
    check: Callable[[Any], Hits]
    prescribes: Callable[[Finding], Prescription] | None = None
    """What one of its findings asks to be set; None: nothing that a setting could do."""

    @functools.cached_property
    def about(self) -> type:
        """The type of fact that it judges: the annotation of its only parameter."""
        (written,) = (value for name, value in self.check.__annotations__.items() if name != "return")
        # `typing.get_type_hints` compiles each annotation, which for all rules takes as long as a small scan.
        about = self.check.__globals__.get(written) if isinstance(written, str) else written
        assert isinstance(about, type)
        return about

    @property
    def summary(self) -> str:
        """One sentence that completes "jaxdoctor found that"."""
        return self.page.partition("\n")[0]

    @property
    def page(self) -> str:
        """What `jaxdoctor rule CODE` prints, in Markdown: the docstring."""
        import inspect  # noqa: PLC0415 (a third of the time of `--help`)

        return inspect.getdoc(self.check) or ""

    def judge(self, fact: Any) -> Iterator[Finding]:
        """The findings about one fact."""
        for hit in self.check(fact):
            yield Finding(
                code=self.code,
                name=self.name,
                severity=self.severity if hit.severity is None else hit.severity,
                location=hit.location,
                message=hit.message,
                evidence=hit.evidence,
                fix=hit.fix,
                go_back=hit.go_back,
            )


def rule(
    code: str, severity: Severity, prescribes: Callable[[Finding], Prescription] | None = None
) -> Callable[[Callable[[Any], Hits]], Rule]:
    """Makes a rule of a generator function; its name, annotation and docstring are the declaration."""

    def declare(check: Callable[[Any], Hits]) -> Rule:
        name = check.__name__.replace("_", "-")
        return Rule(code=code, name=name, severity=severity, check=check, prescribes=prescribes)

    return declare


RULES = Folder("jaxdoctor.rules", Rule, noun="rule", families=True)


def find_rule(code_or_name: str) -> Rule:
    """The rule with that code or name, in any capitals.

    Raises:
        UnknownNameError: there is none.
    """
    wanted = code_or_name.lower().replace("_", "-")
    if wanted in RULES.names():
        return RULES.load(wanted)
    rules = list(RULES.load_all())
    for known in rules:
        if known.code.lower() == wanted:
            return known
    raise UnknownNameError("rule", code_or_name, [*RULES.names(), *(known.code for known in rules)])


def rules_like(word: str) -> list[Rule]:
    """The rule of that code or name; else those whose code begins so, or whose name or first sentence has it.

    Raises:
        UnknownNameError: there is none.
    """
    try:
        return [find_rule(word)]
    except UnknownNameError:
        rules = sorted(RULES.load_all(), key=lambda rule: rule.code)
        wanted = word.lower().replace("_", "-")
        named = [rule for rule in rules if rule.code.lower().startswith(wanted) or wanted in rule.name]
        spoken = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
        found = [rule for rule in rules if rule in named or spoken.search(rule.summary)]
        if not wanted or not found:
            raise
        return found
