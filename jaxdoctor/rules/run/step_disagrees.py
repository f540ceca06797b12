"""JD404."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD404", Severity.WARNING)
def step_disagrees(checkpoint: Checkpoint) -> Hits:
    """A checkpoint's name and the step inside it differ.

    ## What it saw

    `global_step` in the trainer's state is not the number that the folder is named after.

    ## Why it matters

    Whoever resumes "from step 1000" resumes from another one, and the learning rate with it. The folder
    was renamed, or two runs wrote into one place.

    ## What to do

    Trust `global_step`, and see which run wrote the folder.

    ## Example

    ```text
    JD404 warning step-disagrees: global_step is 900, and its name tells 1000
    ```

    ## Sources

    - https://huggingface.co/docs/transformers/main_classes/trainer
    """
    step = checkpoint.metadata.get("global_step")
    if isinstance(step, int) and checkpoint.named_step is not None and step != checkpoint.named_step:
        yield Hit(
            location=Location(path=checkpoint.path, step=step),
            message=f"global_step is {step}, and its name tells {checkpoint.named_step}",
            evidence={"global_step": step, "named": checkpoint.named_step},
        )
