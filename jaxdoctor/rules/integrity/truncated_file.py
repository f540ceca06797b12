"""JD332."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD332", Severity.ERROR)
def truncated_file(checkpoint: Checkpoint) -> Hits:
    """A file ends before what it says it holds.

    ## What it saw

    A header, an index or a shape that needs more bytes than the file has.

    ## Why it matters

    The writer was killed, the disk was full, or a copy was cut off. What comes after the end is lost, and
    some libraries fill it with whatever memory held.

    ## What to do

    Copy it again if the original is whole; else restore an older step.

    ## Example

    ```text
    JD332 error truncated-file: model.safetensors ends at byte 4096, and its values need 16384
    ```

    ## Sources

    - https://huggingface.co/docs/safetensors/index
    """
    for fault in checkpoint.faults_of("truncated-file"):
        yield Hit(
            location=Location(path=fault.path or checkpoint.path, leaf=fault.leaf, step=checkpoint.step),
            message=fault.message,
            evidence=fault.evidence,
            fix=fault.fix or "copy it again, or restore an older step",
            go_back=True,
        )
