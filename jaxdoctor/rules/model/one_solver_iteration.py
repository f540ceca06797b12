"""JD215."""

from __future__ import annotations

from jaxdoctor.facts.cure import NOT_TRIED
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.model import Model
from jaxdoctor.rules.rule import Hits, rule

STIFF = 2.0
"""A time constant of up to so many timesteps is the stiffest that MuJoCo allows."""


@rule("JD215", Severity.WARNING)
def one_solver_iteration(model: Model) -> Hits:
    """One solver iteration has to hold stiff constraints.

    ## What it saw

    `iterations="1"` together with loops of connect or weld, or with constraints whose `solref` is at its
    stiffest: two timesteps or less, or direct stiffness.

    ## Why it matters

    The solver starts from the last step's solution and stops after one Newton step, converged or not.
    Soft constraints forgive that, and MJX's own models use it for speed. Stiff ones turn what is left
    over into large forces, and the next step starts from those.

    ## What to do

    Use 4 iterations and 8 line search iterations, probe again, and go down from there. Or soften the
    constraint.

    ## Example

    ```text
    JD215 warning one-solver-iteration: 1 iteration has to hold equality pin (solref -1e+06 -100)
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/mjx.html#mjx-performance
    - https://github.com/google-deepmind/mujoco/issues/1225
    """
    if model.iterations > 1 or "constraint" in model.disabled:
        return
    looped = {loop.spot for loop in model.loops}
    for one in model.constraints:
        if one.spot in looped or one.is_direct or one.solref[0] <= STIFF * model.timestep:
            yield Hit(
                location=Location(path=model.path, line=one.spot.line),
                message=f"1 iteration has to hold {one.spot} (solref {one.solref[0]:g} {one.solref[1]:g})",
                evidence={
                    "iterations": model.iterations,
                    "element": str(one.spot),
                    "solref": list(one.solref),
                    "timestep": model.timestep,
                },
                fix=f'iterations="4" ls_iterations="8"{NOT_TRIED}',
            )
            return
