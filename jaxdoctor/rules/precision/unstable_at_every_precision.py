"""JD204."""

from __future__ import annotations

from jaxdoctor.facts.cure import advice
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.facts.text import agreed
from jaxdoctor.facts.trial import native_x64
from jaxdoctor.rules.rule import Hits, rule

FIX = "look at the start state and at MuJoCo's warnings; no precision mends it"

FIX_OF_CALL = "look at the arguments with which it fails; no precision mends it"


@rule("JD204", Severity.ERROR)
def unstable_at_every_precision(outcome: Outcome) -> Hits:
    """A rollout is unstable at every precision, float64 included.

    ## What it saw

    The replay under `jax_enable_x64` went NaN or infinite as well. MuJoCo in C, in float64 and with
    auto-reset off, took MJX's last finite state and the same control, and failed in that step too: it was
    not finite, beyond MuJoCo's own limits, or warned. Where there is no model for C to step, as in Brax's
    other backends, the finding says that the engine may be at fault as well.

    ## Why it matters

    No setting of JAX mends that: it is the physics. Raising the precision would cost time and leave the
    NaN.

    ## What to do

    - Use what the finding says mended it: jaxdoctor halves the timestep, adds armature and damping, softens
      contacts, limits and loops, changes solver, cone and integrator, and replays with each.
    - Give `solref` a time constant of at least two timesteps, and no stiff negative values.
    - Look for geoms that overlap at the start, closed chains whose constraints contradict one another,
      links without mass or armature, and actuators whose gain is too high for the timestep.
    - Look at MuJoCo's own warnings: `simulate` shows them in its log.

    ## Example

    ```text
    JD204 error unstable-at-every-precision: 16 of 16 replays are not finite in float64 either, first qacc at
    step 31, nor does MuJoCo in C take that step
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/modeling.html
    """
    if outcome.verdict is not Verdict.MODEL:
        return
    x64 = native_x64(outcome.trials)
    if x64 is None or not x64.failed:
        return
    if x64.episodes is not None and x64.episodes.part is not None and x64.episodes.part.is_the_policys:
        return  # JD234 tells
    warned = ", ".join(f"{name} {count:,} times" for name, count in sorted(outcome.in_c.warnings.items()))
    yield Hit(
        location=Location(path=outcome.subject, leaf=x64.first_bad_field, step=outcome.first_bad_step(x64)),
        message=(
            f"{x64.failed} of {x64.replays} {outcome.replay_word}s "
            f"{agreed(x64.failed)} not finite in float64 either, first "
            f"{outcome.first_bad(x64)}"
            + _in_c(outcome)
            + (f"; over the rollout MuJoCo in C warns of {warned}" if warned else "")
        ),
        evidence={"failed": x64.failed, "replays": x64.replays, "warnings": dict(outcome.in_c.warnings)},
        fix=FIX_OF_CALL if outcome.is_call else advice(outcome.cures) or FIX,
    )


def _in_c(outcome: Outcome) -> str:
    if outcome.is_call:
        return ""
    known = outcome.steps_in_c is not None
    return ", nor does MuJoCo in C take that step" if known else "; whether in C is not known"
