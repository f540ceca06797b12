"""JD301."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Leaf, Role
from jaxdoctor.facts.statistics import Statistics
from jaxdoctor.facts.text import agreed, counted
from jaxdoctor.rules.rule import Hits, rule

FIX = "resume from the last clean checkpoint with jax_debug_nans=True"
FLOATS = frozenset({"float", "complex"})
FEWEST_TOGETHER = 4
NEARLY_ALL = 0.8
"""Where this share of all arrays holds NaN, one cause ruined them together."""

SPACE = re.compile(r"(?:single_)?(?:observation|action)_space(?:_dict)?")

STARTS_AT_INFINITY = {Role.OPTIMIZER, Role.METRIC, Role.OTHER}
"""Roles of which a single number may be infinite before it was first computed: Optax's line searches start
their value and their errors so, and pickles keep no names of them."""


@rule("JD301", Severity.ERROR)
def nonfinite_values(checkpoint: Checkpoint) -> Hits:
    """An array holds NaN or infinity.

    ## What it saw

    Values of a leaf that are NaN or infinite, how many of how many, and the flat index of the first
    one when all of the leaf was looked at. Where all arrays of a checkpoint, or nearly all, hold NaN, they
    are one finding with their numbers by role. Infinities that are meant are notes: attention masks and
    biases that hold nothing but zeros and minus infinity, bounds, the best metric so far, and single
    numbers of an optimizer, as the fresh state of a line search has them. The bounds of a Gym space and
    what Lightning's callbacks keep are not mentioned. So is everything in files of
    tables: arrays of 64 bits alone, without a name that networks have, a count or a step.

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
    ill = [
        (leaf, leaf.statistics)
        for leaf in checkpoint.leaves
        if leaf.statistics is not None
        and leaf.statistics.nonfinite
        and not leaf.statistics.byte_swapped
        and not (_is_never_finite(leaf) and not leaf.statistics.nan)
    ]
    read = [leaf for leaf in checkpoint.leaves if leaf.statistics is not None and leaf.type.kind in FLOATS]
    own = [leaf for leaf, _ in ill if leaf.foreign is None]
    many = len(own) >= FEWEST_TOGETHER and len(ill) >= NEARLY_ALL * len(read)
    if many and all(seen.nan for _, seen in ill) and not checkpoint.holds_tables:
        yield _all_at_once(checkpoint, ill, read)
        return
    for leaf, seen in ill:
        yield _hit(checkpoint, leaf, seen)


def _is_never_finite(leaf: Leaf) -> bool:
    """Whether infinities in it say nothing: bounds of a Gym space, and what Lightning's callbacks keep."""
    return bool(leaf.names) and (leaf.names[0] == "callbacks" or any(map(SPACE.fullmatch, leaf.names[:-1])))


def _all_at_once(checkpoint: Checkpoint, ill: Sequence[tuple[Leaf, Statistics]], read: Sequence[Leaf]) -> Hit:
    leaves = [leaf for leaf, _ in ill]
    roles = {role.value: (_of(role, leaves), _of(role, read)) for role in Role if _of(role, leaves)}
    numbers = ", ".join(f"{bad} of {all_} {role}" for role, (bad, all_) in roles.items())
    nothing_else = sum(seen.nan == seen.seen for _, seen in ill)
    return Hit(
        location=Location(path=checkpoint.path, leaf=leaves[0].path, step=checkpoint.step),
        message=(
            f"{len(ill)} of {len(read)} arrays hold NaN ({numbers}); {nothing_else} of them hold nothing else"
        ),
        evidence={
            "arrays": len(ill),
            "of": len(read),
            "all_nan": nothing_else,
            "by_role": {role: bad for role, (bad, _) in roles.items()},
            "leaves": [leaf.path for leaf in leaves[:8]],
        },
        fix=FIX,
        go_back=True,
    )


def _of(role: Role, leaves: Sequence[Leaf]) -> int:
    return sum(leaf.role is role for leaf in leaves)


def _hit(checkpoint: Checkpoint, leaf: Leaf, seen: Statistics) -> Hit:
    severity = Severity.NOTE if checkpoint.holds_tables else _severity(leaf, seen)
    return Hit(
        location=Location(path=checkpoint.path, leaf=leaf.path, step=checkpoint.step),
        message=_message(seen),
        evidence={
            "nan": seen.nan,
            "infinite": seen.nonfinite - seen.nan,
            "seen": seen.seen,
            "size": seen.size,
            "first": seen.first_nonfinite,
        },
        fix=None if severity is Severity.NOTE else FIX,
        severity=severity,
        go_back=severity is None,
    )


def _message(seen: Statistics) -> str:
    kinds = [(seen.nan, "NaN"), (seen.nonfinite - seen.nan, "infinite")]
    parts = [f"{seen.nonfinite:,} of {counted(seen.seen, 'value')} {agreed(seen.nonfinite)} not finite: "]
    parts.append(", ".join(f"{count:,} {kind}" for count, kind in kinds if count))
    if seen.first_nonfinite is not None:
        parts.append(f", the first at index {seen.first_nonfinite:,}")
    if not seen.whole:
        parts.append(f" (a sample of {seen.size:,})")
    return "".join(parts)


def _severity(leaf: Leaf, seen: Statistics) -> Severity | None:
    if leaf.foreign is not None:
        return Severity.NOTE
    if seen.nan:
        return Severity.WARNING if leaf.role is Role.METRIC else None
    only_zeros = seen.minimum == seen.maximum == 0
    not_yet = leaf.size == 1 and leaf.role in STARTS_AT_INFINITY
    if leaf.masks or leaf.role is Role.METRIC or not_yet or (seen.negative_infinity and only_zeros):
        return Severity.NOTE
    return None
