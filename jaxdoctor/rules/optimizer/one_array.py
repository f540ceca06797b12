"""JD360."""

from __future__ import annotations

from collections.abc import Iterator

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.facts.leaf_names import is_kernel, name_words
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule

SMALLEST = 64
"""Elements. Smaller arrays may be equal by chance or by design."""

COPIES = frozenset(
    {"target", "targets", "ema", "old", "prev", "previous", "ref", "reference", "best", "tied", "shared"}
    | {
        "backup",
        "average",
        "avg",
        "swa",
        "polyak",
        "shadow",
        "teacher",
        "momentum",
        "head",
        "decoder",
        "extractor",
    }
)
"""Words in the names of copies that are meant, and of layers that networks share by design: output layers
with the table of the inputs, Stable-Baselines3's actor and critic with one extractor."""


@rule("JD360", Severity.NOTE)
def one_array(checkpoint: Checkpoint) -> Hits:
    """Two layers of one network hold the same values.

    ## What it saw

    Two kernels of the same shape and of other names, whose values are equal to the last bit and not all
    alike. Target networks, averages, teachers and tied output layers are left out.

    ## Why it matters

    Two layers that were initialized from one key, or that were saved from one variable, hold the same
    array. Ensembles and twin critics lose what they are there for; a layer that was overwritten by
    another one is lost.

    ## What to do

    If they are tied on purpose, nothing. Else split the key before each layer, and see how the tree was
    put together.

    ## Example

    ```text
    JD360 note one-array: params/q1/Dense_0/kernel and params/q2/Dense_0/kernel hold the same 4,096 values
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/random-numbers.html
    """
    if checkpoint.holds_tables:
        return
    groups: dict[object, list[Leaf]] = {}
    for leaf in checkpoint.leaves:
        seen = leaf.statistics
        if seen is None or seen.fingerprint is None or seen.minimum == seen.maximum or leaf.size < SMALLEST:
            continue
        if is_kernel(leaf) and not name_words(leaf) & COPIES:
            groups.setdefault((seen.fingerprint, leaf.shape, leaf.dtype), []).append(leaf)
    equal = [leaves for leaves in groups.values() if len({leaf.path for leaf in leaves}) > 1]
    yield from _hits(checkpoint, equal)


def _hits(checkpoint: Checkpoint, equal: list[list[Leaf]]) -> Iterator[Hit]:
    if not equal:
        return
    first, second = list({leaf.path: leaf for leaf in equal[0]}.values())[:2]
    assert first.statistics is not None
    read = "" if first.statistics.whole else f", as far as {first.statistics.seen} of them tell"
    more = f"; so it is with {counted(len(equal) - 1, 'other kernel')}" if len(equal) > 1 else ""
    yield Hit(
        location=Location(path=checkpoint.path, leaf=second.path, step=checkpoint.step),
        message=f"{first.path} and {second.path} hold the same {counted(first.size, 'value')}{read}{more}",
        evidence={"leaves": [[leaf.path for leaf in leaves][:4] for leaves in equal][:8]},
        fix="if they are not tied on purpose, split the key before each layer",
    )
