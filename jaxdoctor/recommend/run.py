"""`recommend`: the prescriptions of earlier reports, or of this machine, as one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.facts.prescription import Prescription
from jaxdoctor.facts.report import Report
from jaxdoctor.machine.card import HERE
from jaxdoctor.prescriptions.from_findings import advice
from jaxdoctor.prescriptions.merge import merged
from jaxdoctor.prescriptions.statements import XLA_FLAGS, variables
from jaxdoctor.probe.ask import Ask
from jaxdoctor.probe.run import probe
from jaxdoctor.reports.json_reader import read
from jaxdoctor.reports.wording import signed
from jaxdoctor.workers.progress import SILENT, Progress


def recommend(reports: Sequence[Path], card: str = HERE, progress: Progress = SILENT) -> Prescription:
    """What all the reports together ask for; without one, what this machine does at level 1.

    For another machine's card nothing is said that is about this one's processor.

    Raises:
        UnreadableError: a file is no report.
    """
    if reports:
        return merged([_of(str(path), read(path)) for path in reports])
    ask = Ask(model="", subject="this machine", level=1)
    found = merged([_of("this machine", probe(ask, card=card, progress=progress))])
    settings = tuple(one for one in found.settings if card == HERE or not one.this_machine)
    return replace(found, settings=settings, unjudged=(*found.unjudged, _unjudged(card)))


def _unjudged(card: str) -> str:
    named = "" if card == HERE else f" --card {card}"
    return (
        f"precision, for want of a rollout: run `jaxdoctor probe MODEL{named} --output report.json`, "
        "then `jaxdoctor recommend report.json`"
    )


def _of(source: str, report: Report) -> tuple[str, Prescription]:
    stated = [("its prescription", report.prescription)] if report.prescription is not None else []
    return source, merged([*stated, ("its machine", advice(report.findings))])


@dataclass(frozen=True, kw_only=True)
class Verification:
    """A rollout without and with the settings."""

    model: str
    before: Outcome | None
    after: Outcome | None

    @property
    def cured(self) -> bool:
        """Whether it is healthy with the settings."""
        return self.after is not None and self.after.verdict is Verdict.HEALTHY

    @property
    def sentence(self) -> str:
        """Whether the verdict changed."""
        before, after = _state(self.before), _state(self.after)
        if self.before is not None and self.after is not None and self.before.verdict is self.after.verdict:
            return f"{self.model} stays {after} with these settings"
        return f"{self.model} was {before} and is {after} with these settings"


def _state(outcome: Outcome | None) -> str:
    if outcome is None:
        return "not examined"
    return f"{outcome.verdict} (margin {signed(outcome)})"


def verify(
    model: str,
    prescription: Prescription,
    *,
    card: str = HERE,
    time_limit: float = 300.0,
    progress: Progress = SILENT,
) -> Verification:
    """Replays the model as things are and with the settings applied, each in half of the time.

    Raises:
        JaxdoctorError: the model cannot be replayed.
    """
    ask = Ask(model=model, subject=model, time_limit=time_limit / 2)
    before = probe(ask, card=card, progress=progress)
    with _applied(environment(prescription)):
        after = probe(ask, card=card, progress=progress)
    return Verification(
        model=model, before=next(iter(before.outcomes), None), after=next(iter(after.outcomes), None)
    )


def environment(prescription: Prescription) -> dict[str, str]:
    """The settings as environment variables, beside the XLA flags that are set already."""
    found = {name: value for name, value, _ in variables(prescription)}
    if XLA_FLAGS in found:
        found[XLA_FLAGS] = f"{os.environ.get(XLA_FLAGS, '')} {found[XLA_FLAGS]}".strip()
    return found


@contextlib.contextmanager
def _applied(settings: Mapping[str, str]) -> Iterator[None]:
    """The variables for every process that is started inside."""
    kept = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
