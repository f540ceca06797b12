"""JD216."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.model import Model
from jaxdoctor.rules.rule import Hits, rule


@rule("JD216", Severity.ERROR)
def unsupported_by_mjx(model: Model) -> Hits:
    """The model uses a feature that MJX's JAX implementation refuses.

    ## What it saw

    An integrator, solver, flag, actuator, sensor, equality, deformable or pair of colliding geoms that
    MuJoCo has and MJX has not. It is told from the compiled model, without starting JAX.

    ## Why it matters

    `mjx.put_model`, or the first `mjx.step`, raises `NotImplementedError`.

    ## What to do

    Replace it. Common replacements: `integrator="implicitfast"` for `implicit`, `solver="Newton"` for
    `PGS`, capsules or boxes for cylinders that must touch boxes, sensors computed in your own code.

    ## Example

    ```text
    JD216 error unsupported-by-mjx: MJX does not take solver="PGS"
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/mjx.html#mjx-feature-parity
    """
    for feature in model.refused:
        yield Hit(
            location=Location(path=model.path, line=feature.line),
            message=f"MJX does not take {feature.what}",
            evidence={"feature": feature.what},
        )
