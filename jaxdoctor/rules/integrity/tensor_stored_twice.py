"""JD343."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD343", Severity.WARNING)
def tensor_stored_twice(checkpoint: Checkpoint) -> Hits:
    """Two files of one model hold the same tensor.

    ## What it saw

    A file of weights beside the shards of an index, with tensors of the same names.

    ## Why it matters

    Libraries differ in which they load: some take the single file, some the index. The two can be of
    different steps or dtypes, and which was loaded is seen nowhere.

    ## What to do

    Remove the file or the shards, whichever is older.

    ## Example

    ```text
    JD343 warning tensor-stored-twice: model.safetensors holds 21 tensors that the indexed shards hold too
    ```

    ## Sources

    - https://huggingface.co/docs/transformers/big_models
    """
    for fault in checkpoint.faults_of("tensor-stored-twice"):
        yield Hit(
            location=Location(path=fault.path or checkpoint.path, leaf=fault.leaf, step=checkpoint.step),
            message=fault.message,
            evidence=fault.evidence,
            fix=fault.fix or "remove the file or the shards, whichever is older",
        )
