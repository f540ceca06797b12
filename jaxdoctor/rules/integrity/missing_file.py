"""JD334."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD334", Severity.ERROR)
def missing_file(checkpoint: Checkpoint) -> Hits:
    """A file that the checkpoint names is not there.

    ## What it saw

    A shard, a chunk or a manifest that an index names and the folder does not hold, or that may not be
    opened.

    ## Why it matters

    The checkpoint cannot be restored as a whole. Some libraries restore the missing part as zeros.

    ## What to do

    Copy the whole folder, hidden files too, with permission to read it.

    ## Example

    ```text
    JD334 error missing-file: model-00002-of-00004.safetensors is named by the index and is not there
    ```

    ## Sources

    - https://orbax.readthedocs.io/en/latest/guides/checkpoint/checkpoint_format.html
    """
    for fault in checkpoint.faults_of("missing-file"):
        yield Hit(
            location=Location(path=fault.path or checkpoint.path, leaf=fault.leaf, step=checkpoint.step),
            message=fault.message,
            evidence=fault.evidence,
            fix=fault.fix or "copy the whole folder",
        )
