"""JD219."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.model import Model
from jaxdoctor.rules.rule import Hits, rule

LARGE = 50.0
"""From here on the friction's stiffness dominates the solver's Hessian."""


@rule("JD219", Severity.NOTE)
def impratio_with_pyramidal_cone(model: Model) -> Hits:
    """Friction is made stiffer than contact under the pyramidal cone.

    ## What it saw

    `impratio` above 1 with `cone="pyramidal"`, in a model whose geoms can touch.

    ## Why it matters

    The pyramidal cone mixes normal and friction forces, so a larger `impratio` does not do there what it
    does under the elliptic one: it stiffens the contact as a whole, and worsens the condition of the
    solver's Hessian. From 50 on that is a warning.

    ## What to do

    `cone="elliptic"` with `impratio="10"` against slip, or leave `impratio` at 1.

    ## Example

    ```text
    JD219 note impratio-with-pyramidal-cone: impratio 10 acts as meant under cone="elliptic" only
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/XMLreference.html#option-impratio
    - https://github.com/google-deepmind/mujoco/issues/1545
    """
    touches = model.contact_pairs > 0 and "contact" not in model.disabled
    if model.impratio <= 1 or model.cone != "pyramidal" or not touches:
        return
    yield Hit(
        location=Location(path=model.path),
        message=f'impratio {model.impratio:g} acts as meant under cone="elliptic" only',
        evidence={"impratio": model.impratio, "cone": model.cone},
        fix='cone="elliptic", or impratio="1"',
        severity=Severity.WARNING if model.impratio >= LARGE else None,
    )
