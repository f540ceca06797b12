"""JD403."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD403", Severity.ERROR)
def step_past_max(checkpoint: Checkpoint) -> Hits:
    """A run went past its own last step.

    ## What it saw

    `global_step` above `max_steps` in the trainer's state.

    ## Why it matters

    The trainer counts in other units than it planned in. Transformers asks for a save at every step
    from `max_steps` on, and a loop that does not ask `should_training_stop` goes on and on.

    ## What to do

    Stop it. In TRL's RLOO and OnlineDPO trainers of 2024 this is a known fault; update.

    ## Example

    ```text
    JD403 error step-past-max: global_step is 520 and max_steps is 502
    ```

    ## Sources

    - https://github.com/huggingface/trl/issues/2124
    - https://github.com/huggingface/trl/issues/2515
    """
    step, last = checkpoint.metadata.get("global_step"), checkpoint.metadata.get("max_steps")
    if isinstance(step, int) and isinstance(last, int) and step > last > 0:
        yield Hit(
            location=Location(path=checkpoint.path, step=step),
            message=f"global_step is {step:,} and max_steps is {last:,}",
            evidence={"global_step": step, "max_steps": last},
            fix="update the trainer",
        )
