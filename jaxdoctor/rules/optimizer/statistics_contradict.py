"""JD357."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Leaf, Role
from jaxdoctor.rules.rule import Hits, rule

COUNTS = frozenset({"count", "_count"})
SUMS = frozenset({"summed_variance"})
VARIANCES = frozenset({"var", "_var", "variance", "running_var", "moving_variance"})
DEVIATIONS = frozenset({"std", "_std"})
MEANS = frozenset({"mean", "_mean"})

TIMES = 10
"""Clipping and epsilons part a deviation from its variance, by less than this."""


@rule("JD357", Severity.WARNING)
def statistics_contradict(checkpoint: Checkpoint) -> Hits:
    """Running statistics contradict one another.

    ## What it saw

    A normalizer whose count is zero beside a mean or a variance that are not those of a beginning; one
    whose deviation is ten times, or a tenth of, what its summed variance and its count give; or a
    variance below zero.

    ## Why it matters

    A part of the statistics was restored and another one began anew. With a count of zero, the next
    batch of observations replaces what was gathered over the whole run, and the policy sees inputs of
    another scale than it was trained on.

    ## What to do

    Restore mean, variance and count together, from one checkpoint.

    ## Example

    ```text
    JD357 warning statistics-contradict: 0/count is 0, and 0/summed_variance holds values up to 2.5e+07
    ```

    ## Sources

    - https://github.com/facebookresearch/habitat-lab/issues/570
    - https://github.com/google/brax/blob/main/brax/training/acme/running_statistics.py
    """
    folders = _by_folder(checkpoint)
    for counter in checkpoint.counters:
        if counter.name in COUNTS:
            beside = folders.get(counter.path.rpartition("/")[0], {})
            if counter.value < 1:
                yield from _uncounted(checkpoint, counter.path, counter.value, beside)
            else:
                yield from _apart(checkpoint, counter.value, beside)
    for leaf in checkpoint.leaves:
        yield from _below_zero(checkpoint, leaf)


def _by_folder(checkpoint: Checkpoint) -> Mapping[str, Mapping[str, list[Leaf]]]:
    """The statistics below each folder, by what they are; observations may be a tree below their name."""
    found: dict[str, dict[str, list[Leaf]]] = {}
    for leaf in checkpoint.leaves:
        parts = leaf.path.lower().split("/") if leaf.statistics is not None else []
        start = 0
        for part in parts:
            for kind, names in (("sum", SUMS), ("var", VARIANCES), ("std", DEVIATIONS), ("mean", MEANS)):
                if part in names:
                    folder = leaf.path[:start].removesuffix("/")
                    found.setdefault(folder, {}).setdefault(kind, []).append(leaf)
            start += len(part) + 1
    return found


def _uncounted(
    checkpoint: Checkpoint, path: str, count: float, beside: Mapping[str, list[Leaf]]
) -> Iterator[Hit]:
    """A beginning has a mean and a sum of zero, and a variance and a deviation of one, or of zero."""
    for kind, start in (("sum", {0.0}), ("var", {0.0, 1.0}), ("std", {0.0, 1.0}), ("mean", {0.0})):
        for leaf in beside.get(kind, ()):
            seen = leaf.statistics
            if seen is None or seen.minimum is None or seen.maximum is None:
                continue
            if not {float(seen.minimum), float(seen.maximum)} <= start:
                yield Hit(
                    location=Location(path=checkpoint.path, leaf=path, step=checkpoint.step),
                    message=f"{path} is {count:g}, and {leaf.path} holds values up to {seen.maximum:.3g}",
                    evidence={"count": count, "beside": leaf.path, "maximum": seen.maximum},
                    fix="restore mean, variance and count together",
                )
                return


def _apart(checkpoint: Checkpoint, count: float, beside: Mapping[str, list[Leaf]]) -> Iterator[Hit]:
    """Of the same observations, the largest deviation belongs to the largest sum."""
    if len(beside.get("sum", ())) != 1 or len(beside.get("std", ())) != 1:
        return
    summed, deviation = beside["sum"][0], beside["std"][0]
    assert summed.statistics is not None
    assert deviation.statistics is not None
    most, largest = summed.statistics.maximum, deviation.statistics.maximum
    if not most or not largest or most < 0 or largest <= 0 or not summed.statistics.whole:
        return
    expected = math.sqrt(most / count)
    if not 1 / TIMES <= largest / expected <= TIMES:
        yield Hit(
            location=Location(path=checkpoint.path, leaf=deviation.path, step=checkpoint.step),
            message=(
                f"{deviation.path} goes up to {largest:.3g}, and {summed.path} "
                f"over a count of {count:g} gives {expected:.3g}"
            ),
            evidence={"largest": largest, "expected": expected, "count": count},
            fix="restore mean, variance and count together",
        )


def _below_zero(checkpoint: Checkpoint, leaf: Leaf) -> Iterator[Hit]:
    seen = leaf.statistics
    named = leaf.names and leaf.names[-1] in VARIANCES | SUMS
    if leaf.role is not Role.STATISTIC or not named or seen is None or seen.minimum is None:
        return
    if seen.minimum < 0:
        yield Hit(
            location=Location(path=checkpoint.path, leaf=leaf.path, step=checkpoint.step),
            message=f"a variance is below zero: the smallest is {seen.minimum:.3g}",
            evidence={"minimum": seen.minimum},
            fix="restore an older step; no run computes this",
            go_back=True,
        )
