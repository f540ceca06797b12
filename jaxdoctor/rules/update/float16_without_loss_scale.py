"""JD513."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Severity
from jaxdoctor.facts.signature import Signature
from jaxdoctor.rules.rule import Hits, rule


@rule("JD513", Severity.WARNING)
def float16_without_loss_scale(signature: Signature) -> Hits:
    """The update takes gradients in float16, scales no loss and does not ask whether they are finite.

    ## What it saw

    An operation of the backward pass gives a float16 array; no scalar of the state or the arguments and no
    constant of 8 or more multiplies it, and nothing in the update asks `isfinite`.

    ## Why it matters

    Float16 holds nothing between 0 and 6e-8: small gradients become 0, and the parameters behind them stop
    learning. Above 65,504 a gradient is infinite, and one such step makes every parameter NaN. bfloat16 has
    float32's range and needs no scale.

    ## What to do

    Compute in bfloat16 where the card has it; or multiply the loss by a scale, divide the gradients by it and
    leave out steps that are not finite, as `flax.training.dynamic_scale.DynamicScale` or `jmp` do.

    ## Example

    ```text
    JD513 warning float16-without-loss-scale: gradients are float16, and neither a loss scale nor a test for
    finite values is in the update: loss, gradients = jax.value_and_grad(loss_of)(params)
    ```

    ## Sources

    - https://arxiv.org/abs/1710.03740
    - https://flax.readthedocs.io/en/latest/api_reference/flax.training.html#dynamic-scale
    """
    site = signature.unscaled_half
    if site is None:
        return
    quoted = f": {site.source}" if site.source else ""
    yield Hit(
        location=signature.location(site=site),
        message=(
            "gradients are float16, and neither a loss scale nor a test for finite values is in the update"
            f"{quoted}{signature.context}"
        ),
        evidence={"through": list(site.through), "setting": signature.setting},
        fix="compute in bfloat16, or scale the loss: flax.training.dynamic_scale.DynamicScale",
    )
