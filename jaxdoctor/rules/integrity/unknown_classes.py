"""JD351."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD351", Severity.NOTE)
def unknown_classes(checkpoint: Checkpoint) -> Hits:
    """A pickle names classes that are not known.

    ## What it saw

    Classes, or functions that are not called, of packages that jaxdoctor has seen no file of: your own
    modules, most often. Nothing of them was imported.

    ## Why it matters

    Loading imports their modules, and runs what they do with the state that the file holds. The file can
    be loaded only where these modules are, in a version that still has those names.

    ## What to do

    Look whether the names are yours. To be rid of them, save arrays and plain containers.

    ## Example

    ```text
    JD351 note unknown-classes: the pickle names 1 class or function that is not known: my_robot.Config
    ```

    ## Sources

    - https://docs.python.org/3/library/pickle.html
    """
    for fault in checkpoint.faults_of("unknown-classes"):
        yield Hit(
            location=Location(path=fault.path or checkpoint.path, leaf=fault.leaf, step=checkpoint.step),
            message=fault.message,
            evidence=fault.evidence,
        )
