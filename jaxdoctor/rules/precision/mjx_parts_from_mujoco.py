"""JD250."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome, Parting, Verdict
from jaxdoctor.rules.rule import Hits, rule

BY_CONTACT = frozenset({"ncon", "contact.dist", "nefc", "qfrc_constraint", "qacc"})
"""Fields of contact and solver, where MJX is known to find other contacts than C between convex shapes."""


@rule("JD250", Severity.WARNING)
def mjx_parts_from_mujoco(outcome: Outcome) -> Hits:
    """One step of MJX at x64 is not the step that MuJoCo makes in C from the same state.

    ## What it saw

    MuJoCo in C simulated the start states and controls of the replays in float64. MJX, at x64, took every
    one of these steps once more, each from C's own state before it. In more than 2 of 100 the velocity
    after the step differs, relative to what the step changed, by more than the stopping tolerance of the
    constraint solver explains. The finding names the first field in the order of the pipeline that does.

    ## Why it matters

    A policy that is trained in MJX then meets other physics in MuJoCo's viewer, in C or on the robot, and no
    precision mends that. Where the field belongs to contacts or to the solver it is a note: MJX finds other
    contact points than C between boxes, meshes and cylinders, and one iteration of a solver leaves two
    engines at two places.

    ## What to do

    Look at the field. For `qvel` while `qacc` agrees it is the integrator: MJX's `implicitfast` takes
    derivatives of tendon actuators densely, where C keeps only the mass matrix's own pattern; use
    `integrator="Euler"`, or put the servo on the joints. For `qfrc_constraint` raise `iterations` and
    `ls_iterations`. For contacts use spheres, capsules and planes.

    ## Example

    ```text
    JD250 warning mjx-parts-from-mujoco: 800 of 800 steps differ between MJX at x64 and MuJoCo in C, by up to
    56 % of the change in velocity, first in qvel; a rollout parts at step 2
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco_warp/pull/1142
    - https://github.com/google-deepmind/mujoco/blob/main/mjx/mujoco/mjx/_src/derivative.py
    - https://mujoco.readthedocs.io/en/stable/mjx.html#mjx-the-sharp-bits
    """
    parting = outcome.parting
    # Where MJX fails by itself that is the finding, and it parts there too.
    if parting is None or not parting.is_plain or outcome.verdict is Verdict.ENGINE:
        return
    field = "" if parting.field is None else f", first in {parting.field}"
    left = "" if parting.horizon is None else f"; a rollout parts at step {parting.horizon:g}"
    yield Hit(
        location=Location(path=outcome.subject, leaf=parting.field, step=parting.worst[0][0]),
        message=(
            f"{parting.parted:,} of {parting.steps:,} steps differ between MJX at x64 and MuJoCo in C, by up "
            f"to {100 * parting.error:.2g} % of the change in velocity{field}{left}"
        ),
        evidence={
            "steps": parting.steps,
            "parted": parting.parted,
            "error": float(f"{parting.error:.3g}"),
            "tolerance": float(f"{parting.tolerance:.3g}"),
            "field": parting.field,
            "horizon": parting.horizon,
        },
        fix=_fix(parting),
        severity=Severity.NOTE if parting.field is None or parting.field in BY_CONTACT else None,
    )


def _fix(parting: Parting) -> str:
    if parting.field in {"qvel", "qpos", "act"}:
        return 'compare integrator="Euler", or feedback on joints instead of tendons; neither was tried'
    if parting.field in BY_CONTACT:
        return "compare more iterations, or spheres and capsules in place of meshes; neither was tried"
    return "compare one step with MuJoCo in C before you trust a policy from MJX"
