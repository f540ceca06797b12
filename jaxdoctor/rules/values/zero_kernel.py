"""JD307."""

from __future__ import annotations

from collections.abc import Sequence

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.facts.leaf_names import is_kernel, kind
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule

SMALLEST = 32
"""Elements. A smaller matrix may be a head that starts at zero."""

FEWEST_NEIGHBOURS = 2
"""Where no step says that the network was trained; else one is enough."""

MANY_UPDATES = 10
"""After so many a layer that starts at zero has left it."""

MOST_SHARE = 0.1
"""Of the kernels may be zero, besides one. Where more are, zero is how the model starts."""


@rule("JD307", Severity.WARNING)
def zero_kernel(checkpoint: Checkpoint) -> Hits:
    """A kernel holds nothing but zeros, where its neighbours do not.

    ## What it saw

    A matrix or a filter among the parameters of which every value that was read is zero, beside others
    that are not. Left out: biases, masks, embeddings, adapters, layers whose copies in every
    block are zero, the first ten updates, and models in which more than a tenth of the kernels is zero.

    ## Why it matters

    What passes through this layer is a constant, and no gradient reaches what lies before it. No
    training ends there by itself: a part of the save was lost, or the array was never filled.

    ## What to do

    Restore a step in which it is not zero. If there is none, see where the layer is initialized.

    ## Example

    ```text
    JD307 warning zero-kernel: all 1,024 values of params/hidden_1/kernel are zero; 5 other kernels are not
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/_autosummary/jax.nn.initializers.zeros.html
    """
    kernels = [leaf for leaf in checkpoint.leaves if is_kernel(leaf) and leaf.statistics is not None]
    zero = [leaf for leaf in kernels if leaf.statistics is not None and leaf.statistics.all_zero]
    if not zero or checkpoint.holds_tables or _updates(checkpoint) < MANY_UPDATES:
        return
    others = len(kernels) - len(zero)
    fewest = FEWEST_NEIGHBOURS if checkpoint.step is None and checkpoint.own_step is None else 1
    if others < fewest or len(zero) > max(1, MOST_SHARE * len(kernels)):
        return
    for leaf in zero:
        if leaf.size >= SMALLEST and not _starts_so(leaf, kernels):
            yield _hit(checkpoint, leaf, others)


def _updates(checkpoint: Checkpoint) -> float:
    """How many updates it has seen; many, where nothing tells. Gathered ones count by `gradient_step`."""
    counts = {counter.name: counter.value for counter in checkpoint.counters if counter.updates}
    if "gradient_step" in counts:
        return counts["gradient_step"]
    if counts:
        return max(counts.values())
    return MANY_UPDATES if checkpoint.step is None else checkpoint.step


def _starts_so(leaf: Leaf, kernels: Sequence[Leaf]) -> bool:
    """Whether the same array is zero in every block that has it."""
    alike = [other for other in kernels if kind(other) == kind(leaf) and other is not leaf]
    zero = [other for other in alike if other.statistics is not None and other.statistics.all_zero]
    return bool(alike) and len(zero) == len(alike)


def _hit(checkpoint: Checkpoint, leaf: Leaf, others: int) -> Hit:
    seen = leaf.statistics
    assert seen is not None
    read = "" if seen.whole else " that were read"
    return Hit(
        location=Location(path=checkpoint.path, leaf=leaf.path, step=checkpoint.step),
        message=(
            f"all {counted(seen.seen, 'value')}{read} of {leaf.path} are zero; "
            f"{counted(others, 'other kernel is not', 'other kernels are not')}"
        ),
        evidence={"seen": seen.seen, "size": seen.size, "other_kernels": others},
        fix="restore a step in which it is not zero",
        go_back=True,
    )
