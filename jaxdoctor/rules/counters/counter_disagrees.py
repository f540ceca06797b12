"""JD317."""

from __future__ import annotations

from collections.abc import Iterator

from jaxdoctor.facts.checkpoint import Checkpoint, SavedCounter
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule

STEPS = frozenset({"step", "global_step", "train_step"})
"""Names that mean updates of this very training state, in every framework that has them."""

SKIPPING = frozenset({"mini_step", "total_notfinite"})
"""Beside one of these, updates are gathered or thrown away, so that counts may lag behind."""

CLOSE = 2
"""Numbers further apart than by this factor count different things, such as epochs and updates."""


@rule("JD317", Severity.WARNING)
def counter_disagrees(checkpoint: Checkpoint) -> Hits:
    """Two counts of one checkpoint tell different steps.

    ## What it saw

    The `step` of a training state beside the `count` of its own optimizer, or beside the number in the
    checkpoint's name, further apart than one. Left out: optimizers that gather or skip updates, numbers
    that count something else (epochs, environment steps), and Brax, where the normaliser's count goes
    on over a resumed run while the folders start again.

    ## Why it matters

    One of the two was restored and the other one not, or one of them no longer counts. The learning
    rate follows the optimizer's count, and the stopping rule the step.

    ## What to do

    Find out which of the two is right, and restore the whole training state, not only its parameters.

    ## Example

    ```text
    JD317 warning counter-disagrees: step is 20000 and opt_state/0/count is 12000
    ```

    ## Sources

    - https://flax.readthedocs.io/en/latest/api_reference/flax.training.html
    - https://github.com/google-deepmind/optax/issues/1207
    """
    steps = [counter for counter in checkpoint.counters if counter.name in STEPS and counter.updates]
    for step in steps:
        yield from _beside_optimizer(checkpoint, step)
        if step.path in {"step", "state/step", "train_state/step", "default/step"}:
            yield from _beside_name(checkpoint, step)


def _beside_optimizer(checkpoint: Checkpoint, step: SavedCounter) -> Iterator[Hit]:
    above = step.path.rpartition("/")[0]
    own = [
        counter
        for counter in checkpoint.counters
        if counter.path.startswith(f"{above}/opt_state/" if above else "opt_state/")
    ]
    if any(counter.name in SKIPPING for counter in own):
        return
    counts = [counter for counter in own if counter.name == "count"]
    if counts and all(_apart(step.value, count.value) for count in counts):
        yield _hit(checkpoint, step, counts[0].path, counts[0].value)


def _beside_name(checkpoint: Checkpoint, step: SavedCounter) -> Iterator[Hit]:
    named = checkpoint.named_step
    if named is None or named <= 0 or step.value <= 0 or not _apart(step.value, named):
        return
    if max(named, step.value) <= CLOSE * min(named, step.value):
        yield _hit(checkpoint, step, "the name of the checkpoint", named)


def _apart(first: float, second: float) -> bool:
    return abs(first - second) > 1


def _hit(checkpoint: Checkpoint, step: SavedCounter, other: str, value: float) -> Hit:
    return Hit(
        location=Location(path=checkpoint.path, leaf=step.path, step=checkpoint.step),
        message=f"{step.path} is {step.value} and {other} is {value}",
        evidence={"step": step.value, "other": other, "value": value},
    )
