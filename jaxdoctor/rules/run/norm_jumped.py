"""JD409."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.facts.leaf_names import is_kernel
from jaxdoctor.facts.series import Series
from jaxdoctor.rules.rule import Hits, rule

TIMES = 100
FAR = 10
"""Times the others' median: what a layer that began at zero does not reach by training."""

QUIET = 1.1
"""The other kernels' median must have changed by less than this factor."""


@rule("JD409", Severity.WARNING)
def norm_jumped(series: Series) -> Hits:
    """One kernel grew or shrank a hundredfold from one checkpoint to the next, and the others did not.

    ## What it saw

    The root mean square of a kernel, a hundred times or a hundredth of what it was in the checkpoint
    before, while half of the other kernels changed by less than a tenth. Biases, embeddings, adapters,
    masks, kernels that were zero and those that grow from almost nothing are left out.

    ## Why it matters

    An optimizer moves all layers of a network at about the same pace. One that leaves alone was
    overwritten, scaled twice, or hit by an update that overflowed; what follows it sees inputs of
    another scale.

    ## What to do

    Restore the checkpoint before, and see what was done to this layer between the two.

    ## Example

    ```text
    JD409 warning norm-jumped: the root mean square of params/w1/kernel went from 0.05 to 7.1, others by 1 %
    ```

    ## Sources

    - https://optax.readthedocs.io/en/latest/api/transformations.html#optax.clip_by_global_norm
    """
    for before, after in series.neighbours:
        ratios = _ratios(before, after)
        for leaf, old, new in _jumps(ratios):
            others = sorted(max(b / a, a / b) for other, a, b in ratios if other is not leaf)
            usual = sorted(a for other, a, _ in ratios if other is not leaf)
            if not others or _grows_from_nothing(old, new, usual[len(usual) // 2]):
                continue
            if others[len(others) // 2] < QUIET:
                yield _hit(before, after, leaf, old, new, others[len(others) // 2])


def _ratios(before: Checkpoint, after: Checkpoint) -> list[tuple[Leaf, float, float]]:
    """Each kernel of both with its root mean square then and now."""
    earlier = {leaf.path: leaf for leaf in before.leaves if is_kernel(leaf)}
    found = []
    for leaf in after.leaves:
        old = earlier.get(leaf.path)
        if old is None or old.statistics is None or leaf.statistics is None or old.shape != leaf.shape:
            continue
        # Of a single value out there, or of reversed bytes, other rules report.
        odd = any(one.has_outlier or one.byte_swapped for one in (old.statistics, leaf.statistics))
        if old.statistics.rms and leaf.statistics.rms and not odd:
            found.append((leaf, old.statistics.rms, leaf.statistics.rms))
    return found


def _jumps(ratios: list[tuple[Leaf, float, float]]) -> list[tuple[Leaf, float, float]]:
    return [one for one in ratios if max(one[2] / one[1], one[1] / one[2]) >= TIMES]


def _grows_from_nothing(old: float, new: float, usual: float) -> bool:
    """Whether it began at zero, as output layers do and their averages, and is of no unusual size yet."""
    return old < usual / TIMES and new < usual * FAR


def _hit(before: Checkpoint, after: Checkpoint, leaf: Leaf, old: float, new: float, others: float) -> Hit:
    return Hit(
        location=Location(path=after.path, leaf=leaf.path, step=after.step),
        message=(
            f"the root mean square of {leaf.path} went from {old:.3g} to {new:.3g} "
            f"since {before.path}, that of the others by {others - 1:.1%}"
        ),
        evidence={"before": old, "after": new, "others": others, "since": before.path},
        fix="restore the checkpoint before",
        go_back=True,
    )
