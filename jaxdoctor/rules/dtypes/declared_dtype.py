"""JD326."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.facts.text import agreed
from jaxdoctor.rules.rule import Hits, rule


@rule("JD326", Severity.WARNING)
def declared_dtype(checkpoint: Checkpoint) -> Hits:
    """A file has another dtype than its config or index declares.

    ## What it saw

    `torch_dtype` or `dtype` in a config.json, or an index, says one dtype, and most arrays have another.
    A few wider ones among many that agree, such as norms kept in float32, are a note.

    ## Why it matters

    Whoever loads by the config casts: float32 weights lose 16 bits, bfloat16 weights take twice the
    memory. Memory plans and comparisons start from the wrong number.

    ## What to do

    Write the config from the model as it was saved, or cast before saving.

    ## Example

    ```text
    JD326 warning declared-dtype: 290 of 290 leaves are float32, and bfloat16 is declared
    ```

    ## Sources

    - https://github.com/volcengine/verl/issues/296
    - https://github.com/Unakar/Logic-RL/issues/37
    """
    declared = [leaf for leaf in checkpoint.leaves if leaf.declared_dtype and leaf.type.kind == "float"]
    by_pair: dict[tuple[str, str], list[Leaf]] = {}
    for leaf in declared:
        if leaf.declared_dtype is not None and leaf.declared_dtype != leaf.dtype:
            by_pair.setdefault((leaf.dtype, leaf.declared_dtype), []).append(leaf)
    for (actual, said), leaves in by_pair.items():
        few = len(leaves) * 2 <= len(declared) and leaves[0].type.bits > declared[0].type.bits
        yield Hit(
            location=Location(path=checkpoint.path, leaf=leaves[0].path, step=checkpoint.step),
            message=(
                f"{len(leaves)} of {len(declared)} leaves "
                f"{agreed(len(leaves))} {actual}, and {said} is declared"
            ),
            evidence={"actual": actual, "declared": said, "count": len(leaves)},
            severity=Severity.NOTE if few else None,
        )
