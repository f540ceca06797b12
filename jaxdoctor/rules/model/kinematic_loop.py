"""JD213."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.model import Model
from jaxdoctor.rules.rule import Hits, rule

LARGEST_GAP = 0.01
"""A loop that is open by more than this share of the model's extent closes with a jerk."""


@rule("JD213", Severity.NOTE)
def kinematic_loop(model: Model) -> Hits:
    """Connect or weld constraints close kinematic loops.

    ## What it saw

    Active `connect` or `weld` equalities, and how far open each is at the start.

    ## Why it matters

    A loop is held together by forces that the solver finds anew in each step. Its stiffness goes into the
    solver's Hessian beside the mass matrix, and their ratio decides how many bits the factorization needs.
    A loop that starts open is pulled shut within a few timesteps, which can throw the model apart.

    ## What to do

    Nothing, while a probe is healthy. Start with the loop closed: run `mj_forward` at the start pose and
    look at `efc_pos`. Soften it with `solref`, or give it more solver iterations.

    ## Example

    ```text
    JD213 note kinematic-loop: 1 loop is held by constraints; equality pin is open by 0 at the start
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/XMLreference.html#equality-connect
    - https://github.com/google-deepmind/mujoco_warp/issues/1415
    """
    if not model.loops:
        return
    worst = max(model.loops, key=lambda loop: loop.violation)
    gapes = worst.violation > LARGEST_GAP * model.extent
    count = len(model.loops)
    noun = "loop is" if count == 1 else "loops are"
    yield Hit(
        location=Location(path=model.path, line=worst.spot.line),
        message=(
            f"{count} {noun} held by constraints; {worst.spot} is open by {worst.violation:.2g} at the start"
        ),
        evidence={
            "loops": count,
            "element": worst.spot.name,
            "violation": float(f"{worst.violation:.3g}"),
            "extent": float(f"{model.extent:.3g}"),
        },
        fix="start with the loop closed" if gapes else None,
        severity=Severity.WARNING if gapes else None,
    )
