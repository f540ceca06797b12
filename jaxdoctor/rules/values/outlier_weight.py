"""JD308."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.facts.leaf_names import is_average, is_kernel
from jaxdoctor.rules.rule import Hits, rule

SMALLEST = 32
"""Elements. Of fewer, no value is typical."""

SQUARE_OVERFLOWS = 1.8e19
"""From here on magnitude-extreme reports it."""


@rule("JD308", Severity.WARNING)
def outlier_weight(checkpoint: Checkpoint) -> Hits:
    """One weight is a million times as large as the others of its array.

    ## What it saw

    The largest magnitude of a kernel beside the one that 99 % of its values do not exceed: the first is
    a million times the second, or more. Biases, embeddings, masks and adapters are left out.

    ## Why it matters

    Gradients and weight decay keep the weights of one array within a few powers of ten. A single one
    out there is a flipped bit in memory or on disk, or an update that overflowed in a narrower type, and
    it drowns everything else that the layer computes.

    ## What to do

    Restore a step in which it is of ordinary size, and compare the files' checksums.

    ## Example

    ```text
    JD308 warning outlier-weight: the largest magnitude is 3.4e+11, and 99 % of the values are below 0.21
    ```

    ## Sources

    - https://arxiv.org/abs/2102.11245
    """
    if checkpoint.holds_tables:
        return
    for leaf in checkpoint.leaves:
        seen = leaf.statistics
        if seen is None or leaf.size < SMALLEST or not (is_kernel(leaf) or is_average(leaf)):
            continue
        largest, typical = seen.largest_magnitude or 0.0, seen.typical or 0.0
        if seen.has_outlier and largest < SQUARE_OVERFLOWS and not seen.byte_swapped:
            yield _hit(checkpoint, leaf, largest, typical)


def _hit(checkpoint: Checkpoint, leaf: Leaf, largest: float, typical: float) -> Hit:
    return Hit(
        location=Location(path=checkpoint.path, leaf=leaf.path, step=checkpoint.step),
        message=f"the largest magnitude is {largest:.3g}, and 99 % of the values are below {typical:.3g}",
        evidence={"largest_magnitude": largest, "typical": typical},
        fix="restore a step in which it is of ordinary size",
        go_back=True,
    )
