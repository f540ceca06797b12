"""The step of a run beside the steps that its optimizers counted, in JAX and in torch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.counter import SavedCounter

STEPS = frozenset({"step", "global_step", "global_steps", "train_step"})
"""Names that mean updates of this very training state, in every framework that has them."""

SKIPPING = frozenset({"mini_step", "total_notfinite"})
"""Beside one of these, updates are gathered or thrown away, so that counts may lag behind."""

FEWEST = 2
"""Of so few steps, nothing is concluded."""

NEARLY = 0.95
"""Updates that a loss scale skipped make an optimizer's count a little smaller than the run's."""

GATHERED = 256
"""Updates that gather so many steps, or fewer, make it smaller by a whole factor."""

OPTAX_STATE = re.compile(r"(?:^|/)opt_state/")
BEFORE_STATE = re.compile(r"[/.]?state[/.]")


class Disagreement(NamedTuple):
    """A step of the run, and the count of an optimizer that tells another one."""

    name: str
    step: float
    leaf: str
    counted: float


def disagreements(checkpoint: Checkpoint) -> Iterator[Disagreement]:
    """Every optimizer that counted other updates than the run did, where both count the same ones."""
    beside = _of_optax(checkpoint)
    for counter in checkpoint.counters if beside else ():
        if counter.name in STEPS and counter.updates and not counter.of_torch:
            yield from _beside_optax(beside, counter)
    yield from _beside_torch(checkpoint)


def _of_optax(checkpoint: Checkpoint) -> dict[str, list[SavedCounter]]:
    """The counters of each state of an optimizer, by the path that it stands at."""
    found: dict[str, list[SavedCounter]] = {}
    for counter in checkpoint.counters:
        for place in OPTAX_STATE.finditer(counter.path):
            found.setdefault(counter.path[: place.start()].rstrip("/"), []).append(counter)
    return found


def _beside_optax(beside: Mapping[str, list[SavedCounter]], step: SavedCounter) -> Iterator[Disagreement]:
    own = beside.get(step.path.rpartition("/")[0], [])
    if any(counter.name in SKIPPING for counter in own):
        return
    counts = [counter for counter in own if counter.name == "count"]
    if counts and all(abs(step.value - count.value) > 1 for count in counts):
        yield Disagreement(step.path, step.value, counts[0].path, counts[0].value)


def _beside_torch(checkpoint: Checkpoint) -> Iterator[Disagreement]:
    """Each of torch's optimizers counts its own updates; the run's step may be their sum."""
    own, newest = checkpoint.own_step, _steps_of_optimizers(checkpoint)
    if own is None or own[0].rpartition("/")[2].rpartition(".")[2] not in STEPS or not newest:
        return
    (name, step), (leaf, most) = own, max(newest.values(), key=lambda one: one[1])
    total = sum(count for _, count in newest.values())
    if step <= FEWEST or most >= NEARLY * step or abs(total - step) <= (1 - NEARLY) * step:
        return
    if most and step / most <= GATHERED and _is_whole(step / most):
        return
    yield Disagreement(name, step, leaf, most)


def _steps_of_optimizers(checkpoint: Checkpoint) -> dict[str, tuple[str, float]]:
    """Of each optimizer the parameter that was updated most often, and how often."""
    found: dict[str, tuple[str, float]] = {}
    for counter in checkpoint.counters:
        if counter.of_torch:
            optimizer = BEFORE_STATE.split(counter.path)[0]
            if counter.value >= found.get(optimizer, ("", -1.0))[1]:
                found[optimizer] = counter.path, counter.value
    return found


def _is_whole(ratio: float) -> bool:
    return abs(ratio - round(ratio)) <= (1 - NEARLY) * ratio / 2
