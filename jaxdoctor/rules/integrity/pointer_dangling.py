"""JD341."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD341", Severity.WARNING)
def pointer_dangling(checkpoint: Checkpoint) -> Hits:
    """A file or a link that names the newest save names one that is not there.

    ## What it saw

    `latest_checkpointed_iteration.txt` of Megatron and verl, TensorFlow's `checkpoint`, `latest`,
    `last_checkpoint`, or a link such as `latest`: what it names does not exist, and other saves do.

    ## Why it matters

    What resumes from the newest save reads this name first. It fails, or begins from nothing, although older
    saves are there.

    ## What to do

    Write the name of the newest whole save into it, or copy the save that it names.

    ## Example

    ```text
    JD341 warning pointer-dangling: latest names 3000, which is not there; 2000 is
    ```

    ## Sources

    - https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/training/checkpointing.py
    - https://www.tensorflow.org/guide/checkpoint
    """
    for fault in checkpoint.faults_of("pointer-dangling"):
        yield Hit(
            location=Location(path=fault.path or checkpoint.path, leaf=fault.leaf, step=checkpoint.step),
            message=fault.message,
            evidence=fault.evidence,
            fix=fault.fix or "write the name of the newest whole save into it",
        )
