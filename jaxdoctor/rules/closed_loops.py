"""What the rules on closed loops share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxdoctor.facts.closed_loop import Episodes
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.facts.precision import F32
from jaxdoctor.facts.trial import Trial


def told(outcome: Outcome, count: Callable[[Episodes], int]) -> Iterator[tuple[Trial, Episodes]]:
    """The trial that is told of: what decides, else the first of which there is something to tell."""
    trials = [one for one in outcome.trials if one.precision.name.isdecimal() is False]
    for trial in [*([outcome.as_delivered] if outcome.as_delivered else []), *trials]:
        if trial.episodes is not None and count(trial.episodes):
            yield trial, trial.episodes
            return


def at(trial: Trial) -> str:
    """The precision, with the batch where that is one: "tf32, one at a time"."""
    return trial.precision.name if trial.batch is None else f"{trial.precision.name}, one at a time"


def at_float32(outcome: Outcome) -> Episodes | None:
    """What became of the episodes in the batch at float32."""
    found = (trial for trial in outcome.trials if trial.precision == F32 and trial.batch is None)
    return next((trial.episodes for trial in found), None)
