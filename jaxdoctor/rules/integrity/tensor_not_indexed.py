"""JD344."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD344", Severity.NOTE)
def tensor_not_indexed(checkpoint: Checkpoint) -> Hits:
    """A file of weights beside the index holds tensors that the index does not name.

    ## What it saw

    A file of weights in the folder of a sharded model that its index does not list.

    ## Why it matters

    Loaders that follow the index never read it. It may be meant, as for a draft model, or the index is old.

    ## What to do

    If the tensors belong to the model, write the index anew from the headers of all files.

    ## Example

    ```text
    JD344 note tensor-not-indexed: mtp.safetensors holds 2 tensors that the index does not name
    ```

    ## Sources

    - https://huggingface.co/docs/transformers/big_models
    """
    for fault in checkpoint.faults_of("tensor-not-indexed"):
        yield Hit(
            location=Location(path=fault.path or checkpoint.path, leaf=fault.leaf, step=checkpoint.step),
            message=fault.message,
            evidence=fault.evidence,
            fix=fault.fix
            or "write the index anew from the headers of all files, if they belong to the model",
        )
