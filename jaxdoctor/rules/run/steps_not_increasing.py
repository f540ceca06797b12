"""JD405."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.series import Series
from jaxdoctor.rules.rule import Hits, rule


@rule("JD405", Severity.WARNING)
def steps_not_increasing(series: Series) -> Hits:
    """Steps go backwards in time.

    ## What it saw

    A log whose steps fall from one entry to the next; or, as a note, a checkpoint of a lower step that
    was saved after one of a higher step. Two entries of one step, as of training and evaluation, are
    normal, and a fall below zero is a wrapped counter, which another rule reports.

    ## Why it matters

    Loggers drop rows whose step does not rise. Two runs may be writing into one folder, and the newest
    checkpoint is then not the one with the highest step.

    ## What to do

    If the run was resumed from an older step, nothing. Else give each run its own folder.

    ## Example

    ```text
    JD405 warning steps-not-increasing: the log falls from step 1000 to step 500
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco_playground/issues/48
    """
    for saved in series.checkpoints:
        fall = next(_falls(saved.metadata.get("logged_steps")), None)
        if fall is not None:
            yield _hit(saved, f"the log falls from step {fall[0]} to step {fall[1]}", fall, None)
            break
    for before, after in series.neighbours:
        first, second = _step(before), _step(after)
        if first is not None and second is not None and 0 <= second < first:
            steps = first, second
            message = f"step {second} was saved after step {first}"
            yield _hit(after, message, steps, Severity.NOTE)
            break


def _step(saved: Checkpoint) -> int | None:
    """What its name tells: of a name and a step inside that differ, another rule reports."""
    return saved.step if saved.named_step is None else saved.named_step


def _falls(steps: object) -> Iterator[tuple[int, int]]:
    if isinstance(steps, list | tuple):
        known = [step for step in steps if isinstance(step, int)]
        yield from ((first, second) for first, second in pairwise(known) if second < first)


def _hit(saved: Checkpoint, message: str, steps: tuple[int, int], severity: Severity | None) -> Hit:
    return Hit(
        location=Location(path=saved.path, step=saved.step),
        message=message,
        evidence={"before": steps[0], "after": steps[1]},
        severity=severity,
    )
