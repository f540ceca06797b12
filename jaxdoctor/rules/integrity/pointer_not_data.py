"""JD335."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD335", Severity.ERROR)
def pointer_not_data(checkpoint: Checkpoint) -> Hits:
    """A file stands for weights that were never downloaded.

    ## What it saw

    A git-lfs pointer of three lines, or an HTML page that a download saved in place of the file.

    ## Why it matters

    The name and the suffix are right and nothing of the model is there.

    ## What to do

    `git lfs pull`, or download the file itself: the page often asks for a login.

    ## Example

    ```text
    JD335 error pointer-not-data: model.safetensors is a Git LFS pointer: 4.98 GB were never downloaded
    ```

    ## Sources

    - https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
    """
    for fault in checkpoint.faults_of("pointer-not-data"):
        yield Hit(
            location=Location(path=fault.path or checkpoint.path, leaf=fault.leaf, step=checkpoint.step),
            message=fault.message,
            evidence=fault.evidence,
            fix=fault.fix or "git lfs pull, or download the file itself",
        )
