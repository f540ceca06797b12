"""JD119."""

from __future__ import annotations

from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule

SLOW = 1 / 16
"""A card at half the rate, as data centres have, is not worth a word."""


@rule("JD119", Severity.NOTE)
def slow_float64(environment: Environment) -> Hits:
    """64-bit numbers are switched on for a card that computes them slowly.

    ## What it saw

    `jax_enable_x64` is on, and the card does 16 or more float32 operations in the time of one in
    float64.

    ## Why it matters

    GeForce and workstation cards have few float64 units: 1/64 of the float32 rate from RTX 30 on, 1/32
    before. Where a rollout is bound by arithmetic it slows down as much, and state takes twice the
    memory.

    ## What to do

    Keep x64 only if a probe finds that the model requires more than float32's 23 bits. For TF32's loss
    alone `jax_default_matmul_precision="highest"` is enough, and far cheaper.

    ## Example

    ```text
    JD119 note slow-float64: x64 is on, and rtx-4090 computes float64 at 1/64 of its float32 rate
    ```

    ## Sources

    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#arithmetic-instructions
    """
    ratio = environment.accelerator.fp64_ratio
    if environment.x64 and ratio is not None and ratio <= SLOW:
        yield Hit(
            location=Location(path=environment.accelerator.name),
            message=(
                f"x64 is on, and {environment.accelerator.name} computes float64 at 1/{round(1 / ratio)} "
                "of its float32 rate"
            ),
            evidence={"fp64_ratio": ratio},
        )
