"""JD301."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint, Leaf, Role, Statistics
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule

STARTS_AT_INFINITY = {Role.OPTIMIZER, Role.METRIC, Role.OTHER}
"""Roles of which a single number may be infinite before it was first computed: Optax's line searches start
their value and their errors so, and pickles keep no names of them."""


@rule("JD301", Severity.ERROR)
def nonfinite_values(checkpoint: Checkpoint) -> Hits:
    """An array holds NaN or infinity.

    ## What it saw

    Values of a leaf that are NaN or infinite, how many of how many, and the flat index of the first
    one when all of the leaf was looked at. Infinities that are meant are notes: attention masks and
    biases that hold nothing but zeros and minus infinity, bounds, the best metric so far, and single
    numbers of an optimizer, as the fresh state of a line search has them.

    ## Why it matters

    One NaN in the parameters turns every later output and gradient into NaN. A checkpoint is the last
    place where the array that broke first can still be named.

    ## What to do

    Restore the last checkpoint that is clean, and train on from it with
    `jax.config.update("jax_debug_nans", True)` to stop at the operation that breaks. `--deep` looks at
    every value when only a sample was seen.

    ## Example

    ```text
    JD301 error nonfinite-values: 2 of 256 values are not finite: 1 NaN, 1 infinite, the first at index 17
    ```

    ## Sources

    - https://github.com/google/brax/issues/501
    - https://docs.jax.dev/en/latest/debugging/flags.html
    """
    for leaf in checkpoint.leaves:
        seen = leaf.statistics
        if seen is not None and seen.nonfinite:
            yield Hit(
                location=Location(path=checkpoint.path, leaf=leaf.path, step=checkpoint.step),
                message=_message(seen),
                evidence={
                    "nan": seen.nan,
                    "infinite": seen.nonfinite - seen.nan,
                    "seen": seen.seen,
                    "size": seen.size,
                    "first": seen.first_nonfinite,
                },
                fix="restore the last clean checkpoint, and train on from it with jax_debug_nans",
                severity=_severity(leaf, seen),
            )


def _message(seen: Statistics) -> str:
    kinds = [(seen.nan, "NaN"), (seen.nonfinite - seen.nan, "infinite")]
    parts = [f"{seen.nonfinite} of {seen.seen} values are not finite: "]
    parts.append(", ".join(f"{count} {kind}" for count, kind in kinds if count))
    if seen.first_nonfinite is not None:
        parts.append(f", the first at index {seen.first_nonfinite}")
    if not seen.whole:
        parts.append(f" (a sample of {seen.size})")
    return "".join(parts)


def _severity(leaf: Leaf, seen: Statistics) -> Severity | None:
    if seen.nan:
        return Severity.WARNING if leaf.role is Role.METRIC else None
    only_zeros = seen.minimum == seen.maximum == 0
    not_yet = leaf.size == 1 and leaf.role in STARTS_AT_INFINITY
    if leaf.masks or leaf.role is Role.METRIC or not_yet or (seen.negative_infinity and only_zeros):
        return Severity.NOTE
    return None
