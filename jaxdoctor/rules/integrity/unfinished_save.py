"""JD331."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule

RESUME = "resume from another step, if there is one"
"""A save may be alone, and the first of its run has none before it."""


@rule("JD331", Severity.WARNING)
def unfinished_save(checkpoint: Checkpoint) -> Hits:
    """A save was not finished.

    ## What it saw

    A folder with the name of a save under way (`1000.orbax-checkpoint-tmp`, `tmp-checkpoint-1000`), or
    one without the mark that its writer sets last. It was not opened any further.

    ## Why it matters

    Either a job is writing it now, or the job was killed: an asynchronous save that nobody waits for
    dies with its process. A run that always ends so has no last checkpoint.

    ## What to do

    If nothing is writing, delete it and resume from another step, if there is one. Before a process
    ends, wait: `CheckpointManager.wait_until_finished()`.

    ## Example

    ```text
    JD331 warning unfinished-save: the save is not finished
    ```

    ## Sources

    - https://orbax.readthedocs.io/en/latest/guides/checkpoint/async_checkpointing.html
    """
    faults = checkpoint.faults_of("unfinished-save")
    for fault in faults:
        yield Hit(
            location=Location(path=fault.path or checkpoint.path, leaf=fault.leaf, step=checkpoint.step),
            message=fault.message,
            evidence=fault.evidence,
            fix=fault.fix or RESUME,
            go_back=True,
        )
    if not faults and not checkpoint.finished:
        yield Hit(
            location=Location(path=checkpoint.path, step=checkpoint.step),
            message="the save is not finished",
            fix=RESUME,
            go_back=True,
        )
