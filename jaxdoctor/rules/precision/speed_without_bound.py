"""JD224."""

from __future__ import annotations

from jaxdoctor.facts.cure import advice
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Growth, Outcome, Verdict
from jaxdoctor.facts.trial import native_x64
from jaxdoctor.rules.rule import Hits, rule


@rule("JD224", Severity.ERROR)
def speed_without_bound(outcome: Outcome) -> Hits:
    """A rollout gains speed without bound, though no value is NaN yet.

    ## What it saw

    MuJoCo in C simulated the start states and controls of the replays in float64, with auto-reset off.
    Positions, velocities or accelerations passed MuJoCo's own limit of 1e10; or the largest speed, or the
    root of the kinetic energy, is more than 100 times that of the first tenth of the rollout and still grows
    by a factor of 1.3 from each tenth to the next, which nothing does that falls or is pushed evenly. MJX at
    x64 does so too, or was not replayed so far.

    ## Why it matters

    MJX has no limit. It carries such a state on, finite, until a number overflows; a policy trains on it
    meanwhile. No precision mends that: it is the physics.

    ## What to do

    Look for feedback of the wrong sign (a positive last number in `biasprm`, a negative `kv` or `damping`),
    for a servo that is too stiff for the timestep, and for direct stiffness in `solref`. Halve the timestep:
    what then lasts twice as long in steps is stiffness; what does not is energy that the model makes.

    ## Example

    ```text
    JD224 error speed-without-bound: 16 of 16 replays pass MuJoCo's own limits in C and float64, the first at
    step 146, 0.29 s
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco_warp/issues/1662
    - https://mujoco.readthedocs.io/en/stable/APIreference/APItypes.html#mjtwarning
    """
    x64 = native_x64(outcome.trials)
    if outcome.verdict is not Verdict.MODEL or (x64 is not None and x64.failed):
        return
    in_c = outcome.in_c
    evidence: dict[str, object] = {"unusable": in_c.unusable, "replays": in_c.replays}
    if in_c.growth is not None:
        evidence |= {"growing": in_c.growth.growing, "speeds": list(in_c.growth.speeds)}
    if in_c.unusable and in_c.first_unusable_step is not None:
        yield Hit(
            location=Location(path=outcome.subject, step=in_c.first_unusable_step),
            message=(
                f"{in_c.unusable} of {in_c.replays} replays pass MuJoCo's own limits in C and float64, "
                f"the first at step {in_c.first_unusable_step}"
                + _moment(in_c.first_unusable_step, outcome.timestep)
            ),
            evidence=evidence,
            fix=advice(outcome.cures) or FIX,
        )
    elif in_c.growth is not None:
        yield Hit(
            location=Location(path=outcome.subject),
            message=_grown(in_c.growth, outcome),
            evidence=evidence,
            fix=advice(outcome.cures) or FIX,
        )


FIX = "look for feedback of the wrong sign, and for servos and constraints too stiff for the timestep"


def _moment(step: int, timestep: float | None) -> str:
    return "" if timestep is None else f", {step * timestep:.2g} s"


def _grown(growth: Growth, outcome: Outcome) -> str:
    first, last = growth.speeds
    within = _moment(outcome.steps or 0, outcome.timestep).replace(", ", " within ")
    return (
        f"the speed of {growth.growing} of {growth.replays} replays grows by a factor in every step, from "
        f"{first:.2g} to {last:.2g}{within}, in C and float64"
    )
