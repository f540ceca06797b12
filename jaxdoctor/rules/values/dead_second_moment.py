"""JD304."""

from __future__ import annotations

from collections.abc import Iterator

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.facts.statistics import Statistics
from jaxdoctor.rules.rule import Hits, rule

MANY_STEPS = 10
"""After so many updates a second moment that is all zero is no longer a beginning."""

SMALLEST_NORMAL = 2.0**-126
"""Of float32 and bfloat16: below it, hardware and XLA on CPU flush values to zero."""

SECOND = 2


@rule("JD304", Severity.WARNING)
def dead_second_moment(checkpoint: Checkpoint) -> Hits:
    """An optimizer's second moment is zero, denormal or negative.

    ## What it saw

    A mean of squared gradients that is below zero, which arithmetic cannot give; that holds nothing but
    denormal numbers; or, after ten updates and more, zeros in most leaves of the optimizer. Zeros before
    the first update and in a few frozen layers are normal, and nothing is said of them.

    ## Why it matters

    Adam divides by the square root of it. With zeros left and right the step is the first moment over
    epsilon: nothing at all, or far too much.

    ## What to do

    Negative: the file is damaged, or a cast went wrong; restore an older step. Zero: see whether
    gradients reach these parameters, and whether the moments are kept in a 16-bit type in which a
    squared gradient underflows.

    ## Example

    ```text
    JD304 warning dead-second-moment: 14 of 14 second moments are all zero after 20000 updates
    ```

    ## Sources

    - https://arxiv.org/abs/1412.6980
    - https://optax.readthedocs.io/en/latest/api/transformations.html#optax.scale_by_adam
    """
    moments = [
        (leaf, leaf.statistics)
        for leaf in checkpoint.leaves
        if leaf.moment == SECOND and leaf.statistics is not None
    ]
    for leaf, seen in moments:
        yield from _odd(checkpoint, leaf, seen)
    yield from _zero(checkpoint, moments)


def _odd(checkpoint: Checkpoint, leaf: Leaf, seen: Statistics) -> Iterator[Hit]:
    where = Location(path=checkpoint.path, leaf=leaf.path, step=checkpoint.step)
    if seen.minimum is not None and seen.minimum < 0:
        yield Hit(
            location=where,
            message=f"a mean of squares is negative: the smallest is {seen.minimum:.6g}",
            evidence={"minimum": seen.minimum},
            fix="restore an older step; no optimizer computes this",
            severity=Severity.ERROR,
            go_back=True,
        )
    elif leaf.dtype in {"float32", "bfloat16"} and 0 < (seen.largest_magnitude or 0) < SMALLEST_NORMAL:
        yield Hit(
            location=where,
            message=f"every value is denormal: the largest is {seen.largest_magnitude:.3g}",
            evidence={"largest_magnitude": seen.largest_magnitude},
        )


def _zero(checkpoint: Checkpoint, moments: list[tuple[Leaf, Statistics]]) -> Iterator[Hit]:
    zero = [leaf for leaf, seen in moments if seen.minimum == seen.maximum == 0]
    updates = max((counter.value for counter in checkpoint.counters if counter.updates), default=0)
    if len(zero) * 2 > len(moments) and updates >= MANY_STEPS:
        yield Hit(
            location=Location(path=checkpoint.path, leaf=zero[0].path, step=checkpoint.step),
            message=(f"{len(zero)} of {len(moments)} second moments are all zero after {updates} updates"),
            evidence={"zero": len(zero), "moments": len(moments), "updates": updates},
        )
