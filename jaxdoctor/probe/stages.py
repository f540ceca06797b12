"""A probe's stages on one bar: what its workers say of themselves, counted over the whole command."""

from __future__ import annotations

from typing import NoReturn

from jaxdoctor.errors import JaxdoctorError
from jaxdoctor.workers.progress import Progress

STAGES = (
    # How the titles of each stage begin; what begins otherwise belongs to the stage that is under way.
    ("reading", "recording"),
    ("asking", "measuring", "finding"),
    ("tracing", "compiling"),
    ("replaying", "raising", "trying"),
    ("taking", "timing"),
)


class Staged:
    """Progress that counts: "3 of 5: compiling the step"; its bar runs once, from the first to the last."""

    def __init__(self, progress: Progress, before: str = "") -> None:
        """What comes `before` every title names one rollout of several."""
        self._progress, self._before, self._at = progress, before, 0
        self._total: float | None = None

    def stage(self, title: str, total: float | None = None) -> None:
        """Begins a stage, or a part of one."""
        known = [index for index, words in enumerate(STAGES) if title.startswith(words)]
        self._at = max([self._at, *known])
        self._total = total
        self._progress.stage(f"{self._before}{self._at + 1} of {len(STAGES)}: {title}", len(STAGES))
        self._progress.reached(self._at)

    def reached(self, amount: float) -> None:
        """So much of the part is done."""
        if self._total:
            self._progress.reached(self._at + min(amount / self._total, 1.0))

    def hand_over(self, part: object) -> None:
        """Passes it on."""
        self._progress.hand_over(part)

    def end_with(self, error: JaxdoctorError) -> NoReturn:
        """Passes it on."""
        self._progress.end_with(error)
