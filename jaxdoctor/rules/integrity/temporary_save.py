"""JD346."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD346", Severity.NOTE)
def temporary_save(checkpoint: Checkpoint) -> Hits:
    """A save is marked as temporary.

    ## What it saw

    `is_temporary` in the `metadata.json` of Levanter.

    ## Why it matters

    The trainer keeps it for a resume after a preemption, and deletes it once a newer one is there. A path to
    it that was written down leads nowhere then.

    ## What to do

    Copy it if it is to stay.

    ## Example

    ```text
    JD346 note temporary-save: its writer marked it as temporary, and deletes it after a newer save
    ```

    ## Sources

    - https://levanter.readthedocs.io/en/latest/reference/Configuration/
    """
    if checkpoint.metadata.get("is_temporary") is True:
        yield Hit(
            location=Location(path=checkpoint.path, step=checkpoint.step),
            message="its writer marked it as temporary, and deletes it after a newer save",
            fix="copy it if it is to stay",
        )
