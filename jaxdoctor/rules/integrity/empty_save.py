"""JD340."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD340", Severity.ERROR)
def empty_save(checkpoint: Checkpoint) -> Hits:
    """The folder of a save holds nothing.

    ## What it saw

    A folder with the name of a step and nothing in it, beside others of that kind that hold checkpoints.

    ## Why it matters

    The run believes that it saved this step. The writer died before its first byte, the disk was full, or the
    files were deleted or moved: what resumes from the newest folder fails, or begins anew.

    ## What to do

    Delete the folder, and resume from another step. If a job is just writing it, wait.

    ## Example

    ```text
    JD340 error empty-save: 3000 holds nothing; 2 folders beside it hold saves
    ```

    ## Sources

    - https://orbax.readthedocs.io/en/latest/guides/checkpoint/async_checkpointing.html
    """
    for fault in checkpoint.faults_of("empty-save"):
        yield Hit(
            location=Location(path=fault.path or checkpoint.path, leaf=fault.leaf, step=checkpoint.step),
            message=fault.message,
            evidence=fault.evidence,
            fix=fault.fix or "delete it, and resume from another step",
            go_back=True,
        )
