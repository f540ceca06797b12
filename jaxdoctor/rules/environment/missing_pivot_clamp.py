"""JD109."""

from __future__ import annotations

from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.versions import within
from jaxdoctor.rules.rule import Hits, rule


@rule("JD109", Severity.WARNING)
def missing_pivot_clamp(environment: Environment) -> Hits:
    """This MuJoCo factorizes a singular mass matrix into values that are not finite, silently.

    ## What it saw

    The installed mujoco is of 3.3.0 to 3.12. In these versions the smallest pivot of the sparse LDL
    factorization is not held above zero, as it was before and is again from 3.13.0 on.

    ## Why it matters

    MuJoCo in C, which makes the float64 reference of a replay, then divides by a pivot of zero or less
    without a warning. A model with massless or nearly massless bodies gives infinity in `qacc` in one
    version and a bounded number in the next, which looks like a difference in precision and is none.

    ## What to do

    Install mujoco 3.13.0 or newer, or give the model's light joints some `armature`.

    ## Example

    ```text
    JD109 warning missing-pivot-clamp: mujoco 3.5.0 has no lower bound for the pivots of its mass matrix
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco/commit/0b4e17747
    - https://mujoco.readthedocs.io/en/stable/changelog.html
    """
    version = environment.versions.get("mujoco")
    if within(version, "3.3", "3.13"):
        yield Hit(
            location=Location(path="mujoco"),
            message=f"mujoco {version} has no lower bound for the pivots of its mass matrix",
            evidence={"mujoco": version},
            fix="install mujoco 3.13.0 or newer",
        )
