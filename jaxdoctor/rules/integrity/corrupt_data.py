"""JD333."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD333", Severity.ERROR)
def corrupt_data(checkpoint: Checkpoint) -> Hits:
    """A part of a file cannot be what its writer wrote.

    ## What it saw

    A checksum that does not match, a stream that does not decompress, or metadata that contradicts
    itself. Most formats have no checksum over values: a flipped bit in a safetensors body or in an
    uncompressed zarr chunk goes unseen.

    ## Why it matters

    The other values of the file come from the same disk and the same copy.

    ## What to do

    Copy it again and compare checksums; else restore an older step. Test the disk and the memory of the
    machine that wrote it.

    ## Example

    ```text
    JD333 error corrupt-data: the checksum of chunk 0.0 of params/w does not match
    ```

    ## Sources

    - https://google.github.io/tensorstore/kvstore/ocdbt/index.html
    """
    for fault in checkpoint.faults_of("corrupt-data"):
        yield Hit(
            location=Location(path=fault.path or checkpoint.path, leaf=fault.leaf, step=checkpoint.step),
            message=fault.message,
            evidence=fault.evidence,
            fix=fault.fix or "copy it again, or restore an older step",
            go_back=True,
        )
