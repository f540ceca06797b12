"""JD204."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.rules.rule import Hits, rule


@rule("JD204", Severity.ERROR)
def unstable_at_every_precision(outcome: Outcome) -> Hits:
    """A rollout is unstable at every precision, float64 included.

    ## What it saw

    The replay under `jax_enable_x64` went NaN or infinite as well.

    ## Why it matters

    No setting of JAX mends that: it is the physics. Raising the precision would cost time and leave the
    NaN.

    ## What to do

    - Halve `timestep` and see whether it lasts longer.
    - Raise the solver's `iterations` and `ls_iterations`; MJX examples often have them down to 1.
    - Give `solref` a time constant of at least two timesteps, and no stiff negative values.
    - Look for geoms that overlap at the start, closed chains whose constraints contradict one another,
      links without mass or armature, and actuators whose gain is too high for the timestep.
    - Look at MuJoCo's own warnings: `simulate` shows them in its log.

    ## Example

    ```text
    JD204 error unstable-at-every-precision: 16 of 16 replays are not finite in float64 either, first qacc at
    step 31; MuJoCo in C warns of BADQACC 16 times
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/modeling.html
    """
    if outcome.verdict is not Verdict.MODEL:
        return
    x64 = next((trial for trial in outcome.trials if trial.precision.x64), None)
    if x64 is None:
        return
    warned = ", ".join(f"{name} {count} times" for name, count in sorted(outcome.in_c.warnings.items()))
    yield Hit(
        location=Location(path=outcome.subject, leaf=x64.first_bad_field, step=x64.first_bad_step),
        message=(
            f"{x64.failed} of {x64.replays} replays are not finite in float64 either, first "
            f"{x64.first_bad_field} at step {x64.first_bad_step}"
            + (f"; MuJoCo in C warns of {warned}" if warned else "")
        ),
        evidence={"failed": x64.failed, "replays": x64.replays, "warnings": dict(outcome.in_c.warnings)},
        fix="halve the timestep, raise solver iterations, soften solref; JAX is not the cause",
    )
