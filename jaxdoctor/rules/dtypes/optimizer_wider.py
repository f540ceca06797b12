"""JD324."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Role
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule

SINGLE_BITS = 32


@rule("JD324", Severity.WARNING)
def optimizer_wider(checkpoint: Checkpoint) -> Hits:
    """The optimizer keeps float64 state over narrower parameters.

    ## What it saw

    float64 arrays in the state of an optimizer whose parameters have at most 32 bits. Python numbers
    are left out.

    ## Why it matters

    The update is computed in float64, at a fraction of the speed, and cast back. `optax.lbfgs` under x64
    ends in "cond branches must have equal output types".

    ## What to do

    Initialise the optimizer from the parameters as they are trained, and give NumPy scalars a dtype.

    ## Example

    ```text
    JD324 warning optimizer-wider: 3 float64 leaves in the optimizer over float32 parameters
    ```

    ## Sources

    - https://github.com/google-deepmind/optax/issues/1210
    - https://github.com/google-deepmind/optax/issues/1207
    """
    parameters = [leaf for leaf in checkpoint.with_role(Role.PARAMETER) if leaf.type.kind == "float"]
    wide = [
        leaf
        for leaf in checkpoint.with_role(Role.OPTIMIZER)
        if leaf.dtype == "float64" and not leaf.host_scalar
    ]
    if not wide or not parameters:
        return
    widest = max(parameters, key=lambda leaf: leaf.type.bits)
    if widest.type.bits <= SINGLE_BITS:
        yield Hit(
            location=Location(path=checkpoint.path, leaf=wide[0].path, step=checkpoint.step),
            message=(
                f"{counted(len(wide), 'float64 leaf', 'float64 leaves')} in the optimizer "
                f"over {widest.dtype} parameters, the first is {wide[0].path}"
            ),
            evidence={"count": len(wide), "parameters": widest.dtype},
        )
