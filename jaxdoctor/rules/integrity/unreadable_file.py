"""JD338."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.fault import FAULTS
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD338", Severity.ERROR)
def unreadable_file(checkpoint: Checkpoint) -> Hits:
    """A file could not be examined.

    ## What it saw

    A path that was named, or that stands among checkpoints, and that is a device, a FIFO or a socket,
    that may not be opened, or whose content no reader could make anything of.

    ## Why it matters

    Nothing is known about it. It is not counted as healthy.

    ## What to do

    Give this user the right to read it, or leave it out of the paths. If it is a checkpoint that a
    library still loads, report it as a bug.

    ## Example

    ```text
    JD338 error unreadable-file: run/3000 is not examined: permission denied
    ```

    ## Sources

    - https://docs.python.org/3/library/stat.html
    """
    for fault in checkpoint.faults:
        if fault.kind not in FAULTS:
            yield Hit(
                location=Location(path=fault.path or checkpoint.path, leaf=fault.leaf, step=checkpoint.step),
                message=fault.message,
                evidence=fault.evidence,
                fix=fault.fix,
            )
