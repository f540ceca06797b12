"""JD303."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule

LARGEST = 65504.0
"""The largest finite float16."""

NEAR = 0.9


@rule("JD303", Severity.WARNING)
def half_range(checkpoint: Checkpoint) -> Hits:
    """A float16 array is at the end of its range.

    ## What it saw

    A magnitude from 90 % of 65504 on in a float16 leaf. A mask or a bias that holds 65504 on purpose is
    a note.

    ## Why it matters

    The next doubling is infinity. A value of exactly 65504 was often larger before it was cast.

    ## What to do

    Keep this leaf in bfloat16 or float32, or scale it: bfloat16 has the range of float32.

    ## Example

    ```text
    JD303 warning half-range: the largest magnitude is 63000, and float16 ends at 65504
    ```

    ## Sources

    - https://docs.pytorch.org/docs/stable/type_info.html
    """
    for leaf in checkpoint.leaves:
        seen = leaf.statistics
        if leaf.dtype != "float16" or seen is None or seen.largest_magnitude is None:
            continue
        if seen.largest_magnitude >= NEAR * LARGEST:
            meant = leaf.masks or (seen.maximum == 0 and seen.minimum == -LARGEST)
            yield Hit(
                location=Location(path=checkpoint.path, leaf=leaf.path, step=checkpoint.step),
                message=f"the largest magnitude is {seen.largest_magnitude:.6g}, and float16 ends at 65504",
                evidence={"largest_magnitude": seen.largest_magnitude},
                fix="keep it in bfloat16 or float32",
                severity=Severity.NOTE if meant else None,
            )
