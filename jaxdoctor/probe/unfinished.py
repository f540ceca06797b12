"""What a worker was at when the time limit ended it, and about how long would do."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from jaxdoctor.errors import JaxdoctorError
from jaxdoctor.machine.cores import usable_cores
from jaxdoctor.replay.plan import Effort, Judgement
from jaxdoctor.workers.progress import Progress

COMPILING = "compiling"

LAUNCHES = 4
"""A sweep is done after about so many launches, compiling left out."""


@dataclass(frozen=True, kw_only=True)
class Unfinished:
    """A worker that the time limit ended."""

    subject: str
    stage: str
    """What it was at: "compiling the step for every width"."""

    stage_seconds: float
    """How long it had been at that."""

    seconds: float
    """How long it had run."""

    share: float | None
    """How much of the stage was done, where that is known: 0 to 1."""

    effort: Effort = field(default_factory=Effort)

    @property
    def reason(self) -> str:
        """Why there is no more of it: "compiling the step took 170 of 175 s and did not end"."""
        done = f" ({self.share:.0%} done)" if self.share else ""
        return f"{self.stage} took {self.stage_seconds:.0f} of {self.seconds:.0f} s{done} and did not end"

    @property
    def missing_seconds(self) -> float:
        """About how much more time it would have taken, on a machine as busy as this."""
        if self.effort.compiled is None:
            # How long a compile takes is not known before it ends: say as long again, then half to replay.
            return 1.5 * max(self.stage_seconds, self.effort.traced or 0.0)
        if self.effort.launched is not None:
            return LAUNCHES * self.effort.launched
        return LAUNCHES * self.stage_seconds / max(self.share or 0.0, 0.05)


class Watched:
    """Progress that remembers what a worker is at."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._began = self._stage_began = time.monotonic()
        self._title, self._total, self._amount = "starting", None, 0.0  # type: tuple[str, float | None, float]

    def stage(self, title: str, total: float | None = None) -> None:
        """Begins a stage."""
        self._stage_began = time.monotonic()
        self._title, self._total, self._amount = title, total, 0.0
        self._progress.stage(title, total)

    def reached(self, amount: float) -> None:
        """So much of it is done."""
        self._amount = amount
        self._progress.reached(amount)

    def hand_over(self, part: object) -> None:
        """Passes it on."""
        self._progress.hand_over(part)

    def end_with(self, error: JaxdoctorError) -> NoReturn:
        """Passes it on."""
        self._progress.end_with(error)

    def unfinished(self, subject: str, effort: Effort) -> Unfinished:
        """What the worker was at."""
        now = time.monotonic()
        return Unfinished(
            subject=subject,
            stage=self._title,
            stage_seconds=now - self._stage_began,
            seconds=now - self._began,
            share=self._amount / self._total if self._total else None,
            effort=effort,
        )


def unknown_because(
    known: Mapping[str, Judgement | None], unfinished: Sequence[Unfinished], time_limit: float
) -> str:
    """One line: what was measured, what took the time, the machine's load, and about how long would do.

    Args:
        known: by what a reader calls it, "x64"; None: it was not finished.
        unfinished: the workers that the limit ended.
        time_limit: of the whole command, in seconds.
    """
    measured = [
        f"{name} not finished" if found is None else f"{name} {found.failed} of {found.replays} failed"
        for name, found in known.items()
    ]
    if not unfinished:
        return ", ".join(measured)
    slowest = max(unfinished, key=lambda worker: worker.missing_seconds)
    enough = 10 * math.ceil((time_limit + slowest.missing_seconds) / 10)
    what = "compiling" if slowest.stage.startswith(COMPILING) else slowest.stage
    load = f"load {os.getloadavg()[0]:.0f} on {usable_cores()} cores"
    return (
        f"{', '.join(measured)}; {what} took {slowest.stage_seconds:.0f} of {time_limit:.0f} s ({load}); "
        f"about --time-limit {enough} would do"
    )
