"""JD218."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.model import Model
from jaxdoctor.rules.rule import Hits, rule

SMALLEST = 1e-6
"""MuJoCo Warp, which computes in float32 too, does not let a tolerance be smaller."""

FEW = 10
"""So few iterations end the solver long before the tolerance does."""


@rule("JD218", Severity.NOTE)
def unreachable_tolerance(model: Model) -> Hits:
    """The solver's tolerance is finer than float32 can tell.

    ## What it saw

    `tolerance` below 1e-6 while up to 10 or more iterations are allowed and there is something to solve.
    MuJoCo's default is 1e-8 with 100 iterations: made for float64.

    ## Why it matters

    In float32 the cost changes by rounding alone by more than that, so the solver stops by chance or by
    `iterations`. On a GPU the slowest environment of a batch decides for all: the price is time, not
    wrong physics.

    ## What to do

    Set `tolerance="1e-6"`, or iterations to what the model needs; many need 4 or less.

    ## Example

    ```text
    JD218 note unreachable-tolerance: tolerance 1e-08 is below 1e-06, and up to 100 iterations may be spent
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco_warp/blob/main/mujoco_warp/_src/io.py
    - https://mujoco.readthedocs.io/en/stable/mjx.html#mjx-performance
    """
    if model.tolerance >= SMALLEST or model.iterations <= FEW or not model.constraints:
        return
    yield Hit(
        location=Location(path=model.path),
        message=(
            f"tolerance {model.tolerance:.0e} is below {SMALLEST:.0e}, "
            f"and up to {model.iterations} iterations may be spent"
        ),
        evidence={"tolerance": model.tolerance, "iterations": model.iterations},
        fix='tolerance="1e-6"',
    )
