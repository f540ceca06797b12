"""`recommend`: the prescriptions of earlier reports, or of this machine, as one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.facts.prescription import Means, Prescription
from jaxdoctor.facts.report import Report
from jaxdoctor.machine.card import HERE
from jaxdoctor.prescriptions.from_findings import advice
from jaxdoctor.prescriptions.merge import merged
from jaxdoctor.probe.ask import Ask
from jaxdoctor.probe.run import probe
from jaxdoctor.reports.json_read import read
from jaxdoctor.reports.wording import signed
from jaxdoctor.workers.progress import SILENT, Progress


def recommend(reports: Sequence[Path], card: str = HERE, progress: Progress = SILENT) -> Prescription:
    """What all the reports together ask for; without one, what this machine does at level 1.

    Raises:
        UnreadableError: a file is no report.
    """
    if reports:
        return merged([_of(str(path), read(path)) for path in reports])
    ask = Ask(model="", subject="this machine", level=1)
    return merged([_of("this machine", probe(ask, card=card, progress=progress))])


def _of(source: str, report: Report) -> tuple[str, Prescription]:
    told = [("its prescription", report.prescription)] if report.prescription is not None else []
    return source, merged([*told, ("its machine", advice(report.findings))])


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
    with _applied(variables(prescription)):
        after = probe(ask, card=card, progress=progress)
    return Verification(
        model=model, before=next(iter(before.outcomes), None), after=next(iter(after.outcomes), None)
    )


def variables(prescription: Prescription) -> dict[str, str]:
    """The settings as environment variables, beside the XLA flags that are set already."""
    found = {
        setting.key.upper() if setting.means is Means.JAX else setting.key: setting.word
        for setting in prescription.settings
        if setting.means is not Means.XLA
    }
    flags = [f"--{setting.key}={setting.word}" for setting in prescription.by(Means.XLA)]
    if flags:
        found["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *flags]).strip()
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
