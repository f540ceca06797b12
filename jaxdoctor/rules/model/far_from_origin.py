"""JD227."""

from __future__ import annotations

import math

from jaxdoctor.facts.cure import NOT_TRIED
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.model import Model
from jaxdoctor.facts.precision import F32
from jaxdoctor.rules.rule import Hits, rule

COARSE = 0.01
"""Of the size of a body: when float32 places it no finer, its contacts begin and end by rounding."""


@rule("JD227", Severity.WARNING)
def far_from_origin(model: Model) -> Hits:
    """A body starts so far from the origin that float32 cannot place it finely.

    ## What it saw

    In the pose that replays start from, a body that moves is so far out that neighbouring float32 numbers
    there are more than 1/100 of its own size apart.

    ## Why it matters

    Positions are kept in world coordinates. 300 km out float32 counts in steps of 3 cm: contacts jump by as
    much, and small motions are lost. No value is NaN, so that a rollout counts as finite on every card.

    ## What to do

    Move the model to the origin, or compute in x64.

    ## Example

    ```text
    JD227 warning far-from-origin: body crate starts 3e+05 m from the origin, where float32 counts in steps of
    0.031 m, and its size is 0.17 m
    ```

    ## Sources

    - https://en.wikipedia.org/wiki/Unit_in_the_last_place
    - https://mujoco.readthedocs.io/en/stable/mjx.html#mjx-the-sharp-bits
    """
    distant = model.distant
    if distant is None:
        return
    step = 2.0 ** (math.frexp(distant.distance)[1] - 1 - F32.mantissa_bits)
    if step <= COARSE * distant.size:
        return
    yield Hit(
        location=Location(path=model.path, line=distant.spot.line),
        message=(
            f"{distant.spot} starts {distant.distance:.2g} m from the origin, where float32 counts in steps "
            f"of {step:.2g} m, and its size is {distant.size:.2g} m"
        ),
        evidence={"body": distant.spot.name, "distance": distant.distance, "step": float(f"{step:.3g}")},
        fix=f"move the model to the origin, or set jax_enable_x64{NOT_TRIED}",
    )
