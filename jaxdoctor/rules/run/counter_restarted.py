"""JD407."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.optimizer_steps import disagreements
from jaxdoctor.facts.series import Fall, Series, falls
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule


@rule("JD407", Severity.WARNING)
def counter_restarted(series: Series) -> Hits:
    """A counter began again while the run went on.

    ## What it saw

    A count of updates, samples or epochs that is smaller than in the checkpoint before, by what no wrap
    explains, while the step of the run rose. Left out: counts of environments, of episodes and of
    schedulers, which begin again by design, and runs whose own step fell too.

    ## Why it matters

    The parameters were restored and this state was not. An optimizer that begins anew forgets its
    moments and corrects their bias as in its first steps; an average begins from what it has never
    averaged; a schedule warms up again.

    ## What to do

    Restore the whole training state, and train on from the last checkpoint before the fall.

    ## Example

    ```text
    JD407 warning counter-restarted: ema/count fell from 90 to 10 while the run went from step 90 to 180
    ```

    ## Sources

    - https://optax.readthedocs.io/en/latest/api/optimizer_schedules.html
    - https://flax.readthedocs.io/en/latest/guides/training_techniques/use_checkpointing.html
    """
    fallen: dict[str, list[Fall]] = {}
    for sightings in series.histories.values():
        for fall in falls(sightings):
            if fall.grown is None and _restarted(fall):
                fallen.setdefault(fall.after.saved.path, []).append(fall)
    for together in fallen.values():
        yield _hit(together)


def _restarted(fall: Fall) -> bool:
    earlier, later = fall.before.saved, fall.after.saved
    counter = fall.after.counter
    if not counter.only_grows or counter.value < 0 or not _went_on(earlier, later):
        return False
    # Of a checkpoint whose counts contradict each other, another rule reports.
    return all(counter.path != one.leaf for one in disagreements(later))


def _went_on(earlier: Checkpoint, later: Checkpoint) -> bool:
    """Whether the step rose, in the names and, where it is known, inside."""
    if earlier.step is None or later.step is None or later.step <= earlier.step:
        return False
    own = earlier.own_step, later.own_step
    return own[0] is None or own[1] is None or own[1][1] > own[0][1]


def _step(saved: Checkpoint) -> str:
    return "?" if saved.step is None else f"{saved.step:,}"


def _hit(fallen: list[Fall]) -> Hit:
    first = min(fallen, key=lambda fall: len(fall.after.counter.path))
    (earlier, before), (later, after), _ = first
    more = f"; so did {counted(len(fallen) - 1, 'other counter')}" if len(fallen) > 1 else ""
    return Hit(
        location=Location(path=later.path, leaf=after.path, step=later.step),
        message=(
            f"{after.path} fell from {before.value:,} to {after.value:,} "
            f"while the run went from step {_step(earlier)} to {_step(later)}{more}"
        ),
        evidence={
            "before": before.value,
            "after": after.value,
            "counters": [fall.after.counter.path for fall in fallen][:16],
        },
        fix=f"restore the whole training state, and train on from {earlier.path}",
    )
