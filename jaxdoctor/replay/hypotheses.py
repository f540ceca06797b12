"""What a hypothesis about products is judged by: its failing replays, or its one-step error.

A hypothesis is a lane of the program that is compiled already, with a width for each product.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from jaxdoctor.facts.trial import Interval, wilson
from jaxdoctor.replay.ensemble import Ensemble, Rollout
from jaxdoctor.replay.judge import judgement_of, one_step_error
from jaxdoctor.replay.plan import Lane
from jaxdoctor.replay.scratch import Reference
from jaxdoctor.rollouts.record import Recording
from jaxdoctor.workers.progress import Progress


class OutOfTimeError(Exception):
    """The deadline came before every hypothesis was replayed."""


class Hypotheses(Protocol):
    """How a search asks."""

    recording: Recording
    replays: int
    """Of each hypothesis."""

    @property
    def asked(self) -> int:
        """How many hypotheses were replayed."""

    def undecided(self, exact: Lane, rounded: Lane) -> str | None:
        """Why there is nothing to search between all products exact and all rounded; None: there is."""

    def well(self, lanes: Sequence[Lane], exact: Lane, rounded: Lane) -> list[bool]:
        """Of each hypothesis whether it is as good as all products exact, and not as all rounded.

        Raises:
            OutOfTimeError: the deadline left some out.
        """


class FailingShares:
    """By the share of replays that fail, with its Wilson 95 % interval."""

    def __init__(
        self,
        ensemble: Ensemble,
        recording: Recording,
        *,
        replays: int,
        deadline: float,
        aside: tuple[str, ...],
        progress: Progress,
    ) -> None:
        self.ensemble, self.recording, self.replays = ensemble, recording, replays
        self.deadline, self.aside, self.progress = deadline, aside, progress
        self._parts: dict[Lane, list[Rollout]] = {}

    def know(self, lane: Lane, parts: Sequence[Rollout]) -> None:
        """What a lane did that multiplies alike, and was replayed already."""
        self._parts[lane] = list(parts)

    @property
    def asked(self) -> int:
        """How many hypotheses were replayed."""
        return len(self._parts)

    def undecided(self, exact: Lane, rounded: Lane) -> str | None:
        """The replays do not tell all exact from all rounded; with twice as many if need be, once."""
        if not _overlap(*self._shares([exact, rounded])):
            return None
        if 2 * self.replays <= len(self.recording.ctrl):
            self.replays *= 2
            if not _overlap(*self._shares([exact, rounded])):
                return None
        return f"not decided by {self.replays} replays"

    def well(self, lanes: Sequence[Lane], exact: Lane, rounded: Lane) -> list[bool]:
        """Whether each fails as seldom as all exact do, and not as often as all rounded do."""
        whole, none, *shares = self._shares([exact, rounded, *lanes])
        return [_overlap(share, whole) and not _overlap(share, none) for share in shares]

    def stays_finite(self, lane: Lane) -> bool:
        """Whether not one of its replays fails.

        Raises:
            OutOfTimeError: the deadline came before it was replayed.
        """
        self._replay([lane])
        return self._failed(lane)[0] == 0

    def _shares(self, lanes: Sequence[Lane]) -> list[Interval]:
        self._replay(lanes)
        return [wilson(*self._failed(lane)) for lane in lanes]

    def _failed(self, lane: Lane) -> tuple[int, int]:
        judgement = judgement_of(lane, self._parts[lane], replays=self.replays, aside=self.aside)
        return judgement.failed, judgement.replays

    def _replay(self, lanes: Sequence[Lane]) -> None:
        """As many replays in each lane as are wanted."""
        batch = self.ensemble.batch
        missing = [
            replace(lane, first=part * batch)
            for lane in dict.fromkeys(lanes)
            for part in range(len(self._parts.get(lane, ())), -(-self.replays // batch))
        ]
        if not missing:
            return
        if time.monotonic() > self.deadline:
            raise OutOfTimeError
        rollouts = self.ensemble.roll_out(
            self.recording, missing, deadline=self.deadline, progress=self.progress
        )
        if len(rollouts) < len(missing) or time.monotonic() > self.deadline:
            raise OutOfTimeError
        for lane, rollout in zip(missing, rollouts, strict=True):
            self._parts.setdefault(replace(lane, first=0), []).append(rollout)


class OneStepErrors:
    """By the median error of single steps from the x64 replay's states, relative to the state's norm."""

    def __init__(
        self,
        ensemble: Ensemble,
        recording: Recording,
        reference: Reference,
        *,
        bound: float,
        deadline: float,
        progress: Progress,
    ) -> None:
        self.ensemble, self.recording, self.reference = ensemble, recording, reference
        self.bound, self.deadline, self.progress = bound, deadline, progress
        self.replays = ensemble.batch
        self._errors: dict[Lane, float] = {}

    @property
    def asked(self) -> int:
        """How many hypotheses were replayed."""
        return len(self._errors)

    def undecided(self, exact: Lane, rounded: Lane) -> str | None:
        """No product needs to be exact for the bound, or not even all of them are enough."""
        self._replay([exact, rounded])
        if self._errors[exact] > self.bound:
            return (
                f"with every product exact the one-step error is {self._errors[exact]:.1e}, above the bound"
            )
        if self._errors[rounded] <= self.bound:
            return f"as delivered the one-step error is {self._errors[rounded]:.1e}, within the bound"
        return None

    def well(self, lanes: Sequence[Lane], exact: Lane, rounded: Lane) -> list[bool]:
        """Whether each stays within the bound."""
        del exact, rounded
        self._replay(lanes)
        return [self._errors[lane] <= self.bound for lane in lanes]

    def error(self, lane: Lane) -> float:
        """Of a lane that was replayed; infinite where most of its steps are not finite."""
        return self._errors[lane]

    def _replay(self, lanes: Sequence[Lane]) -> None:
        missing = [lane for lane in dict.fromkeys(lanes) if lane not in self._errors]
        if missing and time.monotonic() > self.deadline:
            raise OutOfTimeError
        rollouts = self.ensemble.roll_out(
            self.recording,
            [replace(lane, forced=True) for lane in missing],
            reference=self.reference.states,
            deadline=self.deadline,
            progress=self.progress,
        )
        if len(rollouts) < len(missing):
            raise OutOfTimeError
        for lane, rollout in zip(missing, rollouts, strict=True):
            error = one_step_error(rollout, self.reference, lost_counts=True)
            self._errors[lane] = float("inf") if error is None else error


def _overlap(left: Interval, right: Interval) -> bool:
    return left.low <= right.high and right.low <= left.high
