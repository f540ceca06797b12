"""JD356."""

from __future__ import annotations

from collections.abc import Iterator

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.rules.rule import Hits, rule

NAMES = frozenset({"scale", "cur_scale", "loss_scale", "_scale", "dynamic_scale", "scale_value"})
ALONE = frozenset({"cur_scale", "loss_scale", "dynamic_loss_scale"})
"""Names that mean the scale of a loss wherever they stand."""

SCALERS = ("scaler", "dynamic_scale", "loss_scale", "grad_scale", "amp")
"""Parts of the names of what holds a scale."""

BESIDE = frozenset(
    {"growth_factor", "backoff_factor", "growth_interval", "_growth_tracker", "fin_steps", "scale_window"}
)
"""What stands beside a scale in the same dictionary."""

SMALLEST = 2.0**-10
"""Scales begin at thousands and halve at every overflow. Twenty halvings and more in a row are a collapse."""


@rule("JD356", Severity.WARNING)
def loss_scale_collapsed(checkpoint: Checkpoint) -> Hits:
    """The scale of the loss is zero or almost zero.

    ## What it saw

    The scale that mixed-precision training multiplies the loss with, of torch's `GradScaler`, DeepSpeed,
    Flax's `DynamicScale` or Keras, at zero, below zero or below 2^-10.

    ## Why it matters

    A scaler halves the scale at every update with gradients that are not finite, and throws the update
    away. Down here it has done so twenty times in a row and more: all gradients are NaN, whatever the
    scale, and nothing has been trained for as long. A scale of zero never recovers.

    ## What to do

    Go back to before the collapse, and look for the operation that is not finite: a loss computed in
    float16, a logarithm of zero, a learning rate that is too high. Or train in bfloat16, without a scale.

    ## Example

    ```text
    JD356 warning loss-scale-collapsed: scaler/scale is 0, so every update is thrown away
    ```

    ## Sources

    - https://docs.pytorch.org/docs/stable/amp.html
    - https://github.com/deepspeedai/DeepSpeed/issues/931
    """
    for leaf in _scales(checkpoint):
        if isinstance(leaf.value, int | float) and leaf.value < SMALLEST:
            yield Hit(
                location=Location(path=checkpoint.path, leaf=leaf.path, step=checkpoint.step),
                message=f"{leaf.path} is {leaf.value:.3g}, so every update is thrown away",
                evidence={"scale": leaf.value},
                fix="go back to before the collapse, and find the operation that is not finite",
                go_back=True,
            )


def _scales(checkpoint: Checkpoint) -> Iterator[Leaf]:
    folders = {leaf.names[:-1] for leaf in checkpoint.leaves if leaf.names and leaf.names[-1] in BESIDE}
    for leaf in checkpoint.leaves:
        if leaf.size != 1 or not leaf.names or leaf.names[-1] not in NAMES | ALONE:
            continue
        above = leaf.names[:-1]
        held = any(part in name for name in above for part in SCALERS)
        if leaf.names[-1] in ALONE or held or above in folders:
            yield leaf
