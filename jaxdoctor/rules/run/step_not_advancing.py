"""JD402."""

from __future__ import annotations

from collections.abc import Mapping

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.series import Series
from jaxdoctor.rules.rule import Hits, rule


@rule("JD402", Severity.WARNING)
def step_not_advancing(series: Series) -> Hits:
    """Two checkpoints were saved at the same step.

    ## What it saw

    The same `global_step` in two checkpoints of one run; or every integer counter of updates standing
    still while the names of the checkpoints go on. Counters at the end of their type and counters in
    floats have rules of their own.

    ## Why it matters

    Either nothing is trained between the saves, or the state that is saved is not the one that is
    trained: a replica, a copy from before the loop.

    ## What to do

    Compare a parameter between the two. Save the state that the update returns.

    ## Example

    ```text
    JD402 warning step-not-advancing: step stays at 1,000 from run/1000 to run/2000
    ```

    ## Sources

    - https://github.com/huggingface/trl/issues/2342
    """
    for before, after in series.neighbours:
        first, second = before.metadata.get("global_step"), after.metadata.get("global_step")
        if first is not None and first == second:
            yield _hit(before, after, "global_step", first)
        elif before.step is not None and after.step is not None and after.step > before.step:
            counts, later = _counts(before), _counts(after)
            if counts and counts == later:
                path = min(counts, key=len)
                yield _hit(before, after, path, counts[path])


def _counts(saved: Checkpoint) -> Mapping[str, float]:
    """Integer counts of updates that have begun and can still go on."""
    return {
        counter.path: counter.value
        for counter in saved.counters
        if counter.updates and counter.type.integral and 0 < counter.value != counter.limit
    }


def _hit(before: Checkpoint, after: Checkpoint, name: str, value: float) -> Hit:
    return Hit(
        location=Location(path=after.path, leaf=name, step=after.step),
        message=f"{name} stays at {value:,} from {before.path} to {after.path}",
        evidence={"value": value, "before": before.path},
        fix="save the state that the update returns",
    )
