"""JD208."""

from __future__ import annotations

from jaxdoctor.facts.cure import advice
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.facts.text import agreed
from jaxdoctor.facts.trial import native_x64
from jaxdoctor.rules.rule import Hits, rule


@rule("JD208", Severity.ERROR)
def mjx_fails_alone(outcome: Outcome) -> Hits:
    """MJX fails at x64 in a step that MuJoCo in C takes: the fault is the engine's.

    ## What it saw

    A replay under `jax_enable_x64` stopped being finite. MuJoCo in C, in float64 and with auto-reset off,
    then took MJX's last finite state and the same control, and made the same step: its result was finite,
    within MuJoCo's own limits, and it counted no warning.

    ## Why it matters

    More bits do not mend it, and the model is not at fault: a rollout in C would not show it. MJX computes
    that step otherwise than C does. Known causes are the elliptic cone's apex in the Newton solver, and
    contacts whose friction is next to none.

    ## What to do

    Use what the finding says mended it: jaxdoctor changes friction, cone, timestep, armature, damping,
    softness, solver, integrator and iterations, one at a time, and replays the failing steps with each.
    Report the state to MuJoCo.

    ## Example

    ```text
    JD208 error mjx-fails-alone: 3 of 16 replays are not finite in float64 either, first efc_force at step 2,
    and MuJoCo in C takes that step from the same state: the fault is MJX's, not the model's
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco_warp/issues/1657
    - https://mujoco.readthedocs.io/en/stable/mjx.html#mjx-the-sharp-bits
    """
    x64 = native_x64(outcome.trials)
    if outcome.verdict is not Verdict.ENGINE or x64 is None:
        return
    taken = outcome.steps_in_c or ()
    held = sum(one.holds for one in taken)
    share = "" if held == len(taken) else f"; C fails too in {len(taken) - held} of {len(taken)} later ones"
    yield Hit(
        location=Location(path=outcome.subject, leaf=x64.first_bad_field, step=x64.first_bad_step),
        message=(
            f"{x64.failed} of {x64.replays} replays {agreed(x64.failed)} not finite in float64 either, first "
            f"{x64.first_bad_field} at step {x64.first_bad_step}, and MuJoCo in C takes that step from the "
            f"same state: the fault is MJX's, not the model's{share}"
        ),
        evidence={
            "failed": x64.failed,
            "replays": x64.replays,
            "steps_in_c": [{"step": one.step, "replay": one.replay, "holds": one.holds} for one in taken],
        },
        fix=advice(outcome.cures) or NONE_FOUND,
    )


NONE_FOUND = "no setting of JAX mends it, and no change to the model was seen to; report the state to MuJoCo"
