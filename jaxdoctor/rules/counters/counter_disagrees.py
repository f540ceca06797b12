"""JD317."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.optimizer_steps import disagreements
from jaxdoctor.rules.rule import Hits, rule


@rule("JD317", Severity.WARNING)
def counter_disagrees(checkpoint: Checkpoint) -> Hits:
    """Two counts of one checkpoint tell different steps.

    ## What it saw

    The `step` of a training state beside the `count` of its own optimizer, further apart than one; or
    `global_step` beside the steps of torch's optimizers, which are fewer, by no whole factor. Left out:
    optimizers that gather or skip updates, numbers that count something else (epochs, environment
    steps), and Brax, where the normaliser's count goes on over a resumed run while the folders start
    again.

    ## Why it matters

    One of the two was restored and the other one not, or one of them no longer counts. The learning
    rate follows the optimizer's count, and the stopping rule the step.

    ## What to do

    Find out which of the two is right, and restore the whole training state, not only its parameters.

    ## Example

    ```text
    JD317 warning counter-disagrees: step is 20000 and opt_state/0/count is 12000
    ```

    ## Sources

    - https://flax.readthedocs.io/en/latest/api_reference/flax.training.html
    - https://github.com/google-deepmind/optax/issues/1207
    """
    for name, step, leaf, count in disagreements(checkpoint):
        yield Hit(
            location=Location(path=checkpoint.path, leaf=name, step=checkpoint.step),
            message=f"{name} is {step:,} and {leaf} is {count:,.0f}",
            evidence={"step": step, "other": leaf, "value": count},
            fix="restore the whole training state, not only its parameters",
        )
