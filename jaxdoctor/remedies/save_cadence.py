"""When to save, decided from the step counter alone."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import SupportsInt


class CadenceWarning(UserWarning):
    """The step counter does something that a training loop's counter should not."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Whether to save now; true or false in an `if`."""

    save: bool
    reason: str
    """In words: "step 1,500 is the next multiple of 500"."""

    fault: bool = False
    """The counter stood still, went back or passed the maximum."""

    def __bool__(self) -> bool:
        return self.save


class SaveCadence:
    """Saves once for every `every` steps, and never twice for one.

    Nothing is remembered but numbers of steps, and the step that a run begins at is enough to go on: a
    restart from checkpoint 1500 saves next at 2000, as the run would have. A counter that grows by more than
    one saves when it has passed the next multiple.

    A loop whose counter passes its own maximum has lost its way, and saves at every step if it asks
    something else than the counter. Here it saves once more, and is told.

    >>> cadence = SaveCadence(500, counter=0, maximum=1200)
    >>> [step for step in range(100, 1300, 100) if cadence.at(step)]
    [500, 1000, 1200]
    """

    def __init__(self, every: int, counter: SupportsInt = 0, *, maximum: int | None = None) -> None:
        if every < 1:
            raise ValueError(f"every is {every}: save every 1 step or more")
        self.every = every
        self.maximum = maximum
        self.saved = int(counter)
        """The step of the last save, or where the run began."""

        self.seen = self.saved
        """The step of the last call."""

        self._asked = False

    def at(self, counter: SupportsInt) -> Decision:
        """The decision at that step. A decision to save counts as a save."""
        step = int(counter)
        seen, asked = self.seen, self._asked
        self.seen, self._asked = step, True
        if step < seen:
            return self._refuse(f"the counter went back from {seen:,} to {step:,}, as a wrapped one does")
        if step == seen and asked:
            return self._refuse(f"the counter has not advanced since the last call: step {step:,} again")
        if self.maximum is not None and step > self.maximum:
            return self._past(step, self.maximum)
        return self._within(step)

    def restart(self, counter: SupportsInt) -> None:
        """Goes on from that step, as after the restore of an earlier checkpoint on purpose.

        >>> cadence = SaveCadence(500, counter=1000)
        >>> cadence.restart(600)
        >>> bool(cadence.at(1000))
        True
        """
        self.saved = self.seen = int(counter)
        self._asked = False

    def _within(self, step: int) -> Decision:
        if step == self.saved:
            return Decision(save=False, reason=f"step {step:,} is saved, or is where the run began")
        if step == self.maximum:
            return self._save(step, f"step {step:,} is the last one")
        due = (self.saved // self.every + 1) * self.every
        if step < due:
            return Decision(save=False, reason=f"step {step:,} is before {due:,}")
        return self._save(step, f"step {step:,} has reached {due:,}, a multiple of {self.every:,}")

    def _save(self, step: int, reason: str) -> Decision:
        self.saved = step
        return Decision(save=True, reason=reason)

    def _past(self, step: int, maximum: int) -> Decision:
        reason = f"step {step:,} is past the maximum of {maximum:,}"
        if self.saved >= maximum:
            return self._refuse(f"{reason}, and the end is saved: the loop should have stopped")
        warnings.warn(f"{reason}: saving once more", CadenceWarning, stacklevel=3)
        self.saved = step
        return Decision(save=True, reason=reason, fault=True)

    def _refuse(self, reason: str) -> Decision:
        warnings.warn(reason, CadenceWarning, stacklevel=3)
        return Decision(save=False, reason=reason, fault=True)
