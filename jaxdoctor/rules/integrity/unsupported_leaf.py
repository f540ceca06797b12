"""JD337."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD337", Severity.NOTE)
def unsupported_leaf(checkpoint: Checkpoint) -> Hits:
    """Some leaves were not judged.

    ## What it saw

    Arrays whose values are stored in a way that is not read here: an unusual codec, a type without
    arithmetic, more memory than `--max-memory` allows. What could be told of them without their values
    was judged.

    ## Why it matters

    Nothing is known of their values. They are not counted as healthy.

    ## What to do

    Raise `--max-memory` if that is the reason, or save these leaves in an ordinary codec.

    ## Example

    ```text
    JD337 note unsupported-leaf: the values are compressed with blosc2, which is not read
    ```

    ## Sources

    - https://zarr-specs.readthedocs.io/en/latest/v3/codecs/index.html
    """
    told = set()
    for fault in checkpoint.faults_of("unsupported-leaf"):
        told.add(fault.leaf)
        yield Hit(
            location=Location(path=fault.path or checkpoint.path, leaf=fault.leaf, step=checkpoint.step),
            message=fault.message,
            evidence=fault.evidence,
        )
    for leaf in checkpoint.leaves:
        if leaf.unsupported and leaf.path not in told:
            yield Hit(
                location=Location(path=checkpoint.path, leaf=leaf.path, step=checkpoint.step),
                message=leaf.unsupported,
                evidence={"dtype": leaf.dtype, "shape": list(leaf.shape)},
            )
