"""Looks at this machine through workers: as JAX is configured, then without the settings that end it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence

from jaxdoctor.errors import WorkerError
from jaxdoctor.facts.delivery import SETTINGS, X64
from jaxdoctor.facts.finding import Skipped
from jaxdoctor.machine.expected import level_of
from jaxdoctor.machine.measured import SURVEY, Survey
from jaxdoctor.machine.refused import Refusals, find_refusals
from jaxdoctor.machine.xla_flags import XLA_FLAGS, read_xla_flags
from jaxdoctor.workers.progress import Progress
from jaxdoctor.workers.worker import WorkerTimeoutError, run

PRECISION_VARIABLE = "JAX_DEFAULT_MATMUL_PRECISION"

POLITE = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
"""Otherwise asking the card takes three quarters of its memory from whoever trains on it."""

FLOAT64: Mapping[str, str | None] = {"JAX_ENABLE_X64": "1", PRECISION_VARIABLE: None}
"""The level does not matter to float64, and a preset could forbid it."""

SHARE_OF_MEASURING = 0.7
"""Of a worker's time limit; the rest is for starting JAX and the product that was begun last."""


class Devices:
    """What JAX computes on here, asked once."""

    def __init__(self, deadline: float, progress: Progress) -> None:
        self.deadline = deadline
        self.progress = progress
        self.flags = read_xla_flags(os.environ.get(XLA_FLAGS))
        self.refusals = Refusals()
        self.surveys: list[Survey] = []
        self.skipped: list[Skipped] = []

    def survey(self, *, measure: bool) -> None:
        """Asks for the devices and, if asked to, measures; what fails stands in `skipped`."""
        configured = level_of(os.environ.get(PRECISION_VARIABLE))
        levels = [setting for setting in SETTINGS if setting != X64] if measure else []
        extra = [configured] if measure and configured not in SETTINGS else []
        try:
            self._run([*levels, *extra])
        except WorkerTimeoutError as error:
            self.skipped.append(Skipped(subject="this device", reason=str(error)))
            return
        except WorkerError:
            self.progress.stage("finding the setting that ends JAX")
            self.refusals = find_refusals(os.environ, self.flags, self.deadline)
            if not self._try("this device", levels):
                return
        if measure:
            self._try("float64 products", [X64], FLOAT64)

    @property
    def is_whole(self) -> bool:
        """Whether everything was answered, and JAX refused nothing."""
        return bool(self.surveys) and not self.skipped and self.refusals == Refusals()

    @property
    def taken_flags(self) -> Mapping[str, str]:
        """The flags that XLA really takes."""
        gone = {*self.refusals.unknown_flags, *self.refusals.refused_flags}
        return {each.name: each.value for each in self.flags.arguments if each.text not in gone}

    @property
    def variables(self) -> Mapping[str, str | None]:
        """What other workers must set. To flags in a file, or behind a loose word, they could not add any."""
        legible = {XLA_FLAGS: self.flags.without(())} if self.flags.file or self.flags.unread else {}
        return {**legible, **self.refusals.variables}

    def _try(
        self, subject: str, settings: Sequence[str], extra: Mapping[str, str | None] | None = None
    ) -> bool:
        try:
            self._run(settings, extra)
        except WorkerError as error:
            self.skipped.append(Skipped(subject=subject, reason=f"{error}; {error.hint}"))
            return False
        return True

    def _run(self, settings: Sequence[str], extra: Mapping[str, str | None] | None = None) -> None:
        seconds = max(1.0, self.deadline - time.monotonic())
        polite = {name: value for name, value in POLITE.items() if name not in os.environ}
        survey = run(
            SURVEY(tuple(settings), seconds * SHARE_OF_MEASURING),
            environment={**polite, **self.refusals.variables, **(extra or {})},
            deadline=time.monotonic() + seconds,
            progress=self.progress,
            subject="measuring this device",
        )
        self.surveys.append(survey)
        self.skipped += survey.skipped
