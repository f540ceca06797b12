"""JD358."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Role
from jaxdoctor.facts.leaf_names import is_second_factor
from jaxdoctor.rules.rule import Hits, rule


@rule("JD358", Severity.WARNING)
def adapter_unchanged(checkpoint: Checkpoint) -> Hits:
    """An adapter changes nothing, though it was trained.

    ## What it saw

    Low-rank adapters whose second factors (`lora_B`, `lora_up`) are all zero, in a checkpoint whose step
    is above zero. That is how they start: an adapter of which no step is known is left out.

    ## Why it matters

    The product of the two factors is zero, so that the model with the adapter is the model without it.
    What was trained is not what was saved, or no gradient reached the adapter.

    ## What to do

    See that the optimizer was given the adapter's parameters, after it was added to the model, and that
    the saved state dict is that of the trained model.

    ## Example

    ```text
    JD358 warning adapter-unchanged: at step 500 the second factors of all 14 adapters are zero
    ```

    ## Sources

    - https://arxiv.org/abs/2106.09685
    - https://huggingface.co/docs/peft/developer_guides/lora
    """
    step = checkpoint.step if checkpoint.own_step is None else checkpoint.own_step[1]
    factors = [
        leaf
        for leaf in checkpoint.with_role(Role.PARAMETER)
        if is_second_factor(leaf) and leaf.statistics is not None
    ]
    if not step or step < 0 or not factors:
        return
    if all(leaf.statistics is not None and leaf.statistics.all_zero for leaf in factors):
        adapters = f"all {len(factors)} adapters" if len(factors) > 1 else "the only adapter"
        yield Hit(
            location=Location(path=checkpoint.path, leaf=factors[0].path, step=checkpoint.step),
            message=f"at step {step:,} the second factors of {adapters} are zero",
            evidence={"step": step, "adapters": len(factors)},
            fix="give the optimizer the adapter's parameters, and save the model that is trained",
        )
