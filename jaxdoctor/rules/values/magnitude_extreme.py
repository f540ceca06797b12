"""JD305."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Role
from jaxdoctor.rules.rule import Hits, rule

SQUARE_OVERFLOWS = {"float32": 1.8e19, "bfloat16": 1.8e19, "float64": 1.3e154}
"""From here on the square of a value is infinite in its own type."""

JUDGED = {Role.PARAMETER, Role.OPTIMIZER, Role.STATISTIC}


@rule("JD305", Severity.WARNING)
def magnitude_extreme(checkpoint: Checkpoint) -> Hits:
    """A value is so large that its square overflows.

    ## What it saw

    A finite magnitude beyond the square root of the largest number of its type, 1.8e19 in float32, in a
    parameter, a moment or a running statistic. Masks are left out: they hold such numbers on purpose.

    ## Why it matters

    A norm, a variance or a second moment squares it, and is infinite. The run is steps away from NaN.

    ## What to do

    Restore the last checkpoint in which this leaf is of ordinary size, and clip: gradients with
    `optax.clip_by_global_norm`, observations before they enter the normaliser.

    ## Example

    ```text
    JD305 warning magnitude-extreme: the largest magnitude is 3.2e+21, whose square float32 cannot hold
    ```

    ## Sources

    - https://optax.readthedocs.io/en/latest/api/transformations.html#optax.clip_by_global_norm
    """
    if checkpoint.holds_tables:
        return
    for leaf in checkpoint.leaves:
        seen = leaf.statistics
        limit = SQUARE_OVERFLOWS.get(leaf.dtype)
        if limit is None or leaf.role not in JUDGED or leaf.masks or seen is None or seen.byte_swapped:
            continue
        if seen.largest_magnitude is not None and seen.largest_magnitude > limit:
            yield Hit(
                location=Location(path=checkpoint.path, leaf=leaf.path, step=checkpoint.step),
                message=(
                    f"the largest magnitude is {seen.largest_magnitude:.3g}, "
                    f"whose square {leaf.dtype} cannot hold"
                ),
                evidence={"largest_magnitude": seen.largest_magnitude, "dtype": leaf.dtype},
                fix="restore a step in which it is of ordinary size, and clip",
                go_back=True,
            )
