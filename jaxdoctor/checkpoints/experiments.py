"""Tells numbered experiments from the numbered saves of one run.

`PPO_1.zip` to `PPO_3.zip` are three trainings, and no rule about a run is true of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.leaf import Role
from jaxdoctor.facts.series import MOMENT

OF_A_RUN = re.compile(r"step|iter|epoch|checkpoint|ckpt|chkpt|update|save|snapshot", re.IGNORECASE)
"""A word before the number that says that one training counted it."""

SINGLE = "npy"
"""A file of one array is no checkpoint by itself: numbered ones are the parts of something."""

FEW = 100
"""Experiments are numbered one by one; steps are larger, or have gaps."""


def are_experiments(saves: Sequence[Checkpoint], before_number: str) -> bool:
    """Whether checkpoints whose names differ in a number alone come from different trainings.

    Told by what is inside: networks of other shapes or with no array in common, counts that are equal or
    fall, times against the order of the numbers. Of bare numbers, which managers of checkpoints give to
    steps, only by shapes.
    """
    numbered = sorted(
        ((saved.named_step, saved) for saved in saves if saved.named_step is not None),
        key=lambda pair: pair[0],
    )
    numbers = [number for number, _ in numbered]
    if len(numbers) < 2 or OF_A_RUN.search(before_number) or not _one_by_one(numbers):  # noqa: PLR2004 (a pair)
        return False
    pairs = list(pairwise(saved for _, saved in numbered))
    if any(_of_other_shapes(*pair) or _with_nothing_in_common(*pair) for pair in pairs):
        return True
    if before_number and saves[0].format == SINGLE:
        return True
    return bool(before_number) and any(_not_counted_on(*pair) or _earlier(*pair) for pair in pairs)


def _one_by_one(numbers: Sequence[int]) -> bool:
    span = numbers[-1] - numbers[0] + 1
    return numbers[0] >= 0 and numbers[-1] < FEW and span <= 2 * len(numbers)


def _of_other_shapes(first: Checkpoint, second: Checkpoint) -> bool:
    """Whether a parameter has another shape, by more than an axis of devices or of a batch in front."""
    shapes = {leaf.path: leaf.shape for leaf in first.with_role(Role.PARAMETER)}
    return any(
        not _with_an_axis(shapes.get(leaf.path, leaf.shape), leaf.shape)
        for leaf in second.with_role(Role.PARAMETER)
    )


def _with_nothing_in_common(first: Checkpoint, second: Checkpoint) -> bool:
    paths = {leaf.path for leaf in first.leaves}
    return bool(paths) and bool(second.leaves) and not any(leaf.path in paths for leaf in second.leaves)


def _with_an_axis(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    return first == second or first[1:] == second or second[1:] == first


def _not_counted_on(first: Checkpoint, second: Checkpoint) -> bool:
    """Whether the largest count that both hold did not grow, as of trainings with equal budgets."""
    before = {counter.path: counter.value for counter in first.counters if counter.only_grows}
    shared = [
        (before[counter.path], counter.value)
        for counter in second.counters
        if counter.only_grows and counter.path in before
    ]
    largest = max(shared, default=None)
    return largest is not None and largest[1] > 0 and largest[1] <= largest[0]


def _earlier(first: Checkpoint, second: Checkpoint) -> bool:
    if first.saved_at is None or second.saved_at is None:
        return False
    return second.saved_at < first.saved_at - MOMENT
