"""JD217."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.model import Model
from jaxdoctor.rules.rule import Hits, rule


@rule("JD217", Severity.WARNING)
def ignored_by_mjx(model: Model) -> Hits:
    """The model uses a feature that MJX's JAX implementation passes over in silence.

    ## What it saw

    MuJoCo's C engine acts on it, MJX takes the model and does not: `noslip_iterations`, a plugin, actuators
    with damping, armature, `delay` or `actearly`, or of a group that `actuatorgroupdisable` names, damping
    and stiffness with more than one number, `springyield`, `surfacevel`, `adhesion` of geoms, and
    `fluidshape="ellipsoid"` in a fluid. MJX 3.17 was seen to do so with each.

    ## Why it matters

    The replay in MJX is then not the rollout that MuJoCo would do. A gripper that holds an object thanks
    to the noslip solver lets it slide; an actuator that is switched off drives.

    ## What to do

    Take it out of the model and look whether it still does what it should in MuJoCo. Against slip:
    `cone="elliptic"` with `impratio="10"`.

    ## Example

    ```text
    JD217 warning ignored-by-mjx: MJX passes over noslip_iterations="5"
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/mjx.html#mjx-feature-parity
    - https://mujoco.readthedocs.io/en/stable/XMLreference.html#option-noslip-iterations
    """
    for feature in model.ignored:
        yield Hit(
            location=Location(path=model.path, line=feature.line),
            message=f"MJX passes over {feature.what}",
            evidence={"feature": feature.what},
        )
