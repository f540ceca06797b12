"""JD336."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD336", Severity.ERROR)
def hostile_content(checkpoint: Checkpoint) -> Hits:
    """A file asks for something that no honest writer writes.

    ## What it saw

    Code that a pickle would run when it is loaded, a name that leaves the folder, a declared size beyond
    the file or beyond reason, overlapping offsets, a decompression bomb. Nothing of it was executed.

    ## Why it matters

    `pickle.load`, `torch.load` without `weights_only` and `joblib.load` run what the file says, with your
    rights.

    ## What to do

    Do not load it. Find out where it is from, and ask for the same weights as safetensors.

    ## Example

    ```text
    JD336 error hostile-content: the pickle would call posix.system
    ```

    ## Sources

    - https://docs.python.org/3/library/pickle.html
    - https://huggingface.co/docs/hub/security-pickle
    """
    for fault in checkpoint.faults_of("hostile-content"):
        yield Hit(
            location=Location(path=fault.path or checkpoint.path, leaf=fault.leaf, step=checkpoint.step),
            message=fault.message,
            evidence=fault.evidence,
            fix=fault.fix or "do not load it; ask for the same weights as safetensors",
        )
