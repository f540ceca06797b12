"""JD218."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.rules.rule import Hits, rule

FEW = 10
"""So few iterations are a choice: who allows no more means the solver to stop there."""


FLOAT32_TOLERANCE = 1e-6
"""MuJoCo Warp, which computes in float32 too, does not let a tolerance be smaller."""


@rule("JD218", Severity.NOTE)
def unreachable_tolerance(outcome: Outcome) -> Hits:
    """The solver spends every iteration that it may, and does not reach its tolerance.

    ## What it saw

    MuJoCo in C simulated the start states and controls of the replays in float64. In some steps its
    constraint solver took as many iterations as the model allows, more than 10.

    ## Why it matters

    Those steps end with forces that do not solve the constraints. And on a GPU the slowest environment of
    a batch decides for all: one that runs to the limit makes every step of the batch as slow.

    ## What to do

    Raise `tolerance`, for 1e-8 is made for float64 and MuJoCo Warp allows nothing below 1e-6; or look at
    what makes these steps hard: contradicting constraints, very different masses, a large `impratio`.

    ## Example

    ```text
    JD218 note unreachable-tolerance: 120 of 6,400 steps take all 50 iterations of the solver without
    reaching tolerance 1e-08; a step takes 3.1 on average
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco_warp/blob/main/mujoco_warp/_src/io.py
    - https://mujoco.readthedocs.io/en/stable/mjx.html#mjx-performance
    """
    solver = outcome.in_c.solver
    if solver is None or solver.limit <= FEW or not solver.at_limit:
        return
    yield Hit(
        location=Location(path=outcome.subject),
        message=(
            f"{solver.at_limit:,} of {solver.steps:,} steps take all {solver.limit:,} iterations of the "
            f"solver without reaching tolerance {solver.tolerance:.0e}; a step takes "
            f"{solver.mean:.2g} on average"
        ),
        evidence={
            "steps": solver.steps,
            "at_limit": solver.at_limit,
            "mean_iterations": solver.mean,
            "iterations": solver.limit,
            "tolerance": solver.tolerance,
        },
        fix='tolerance="1e-6"' if solver.tolerance < FLOAT32_TOLERANCE else None,
    )
