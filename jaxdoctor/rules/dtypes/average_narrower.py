"""JD329."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Role
from jaxdoctor.facts.leaf_names import is_average
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule

HALF_BITS = 16


@rule("JD329", Severity.WARNING)
def average_narrower(checkpoint: Checkpoint) -> Hits:
    """A running average of the parameters is kept in fewer bits than they are.

    ## What it saw

    Leaves of an average (`ema`, `polyak`, `swa`, `shadow`) in bfloat16 or float16, beside parameters of
    which most are wider.

    ## Why it matters

    Each update moves an average by a thousandth of the difference, or less. bfloat16 distinguishes neighbours
    apart that differ by a 256th: the update is rounded away, and the average stays where it began.

    ## What to do

    Keep the average in float32, and cast a copy for evaluation.

    ## Example

    ```text
    JD329 warning average-narrower: 1 leaf of an average is bfloat16 over float32 parameters: ema/w
    ```

    ## Sources

    - https://github.com/d8ahazard/sd_dreambooth_extension/issues/1415
    - https://optax.readthedocs.io/en/latest/api/transformations.html#optax.ema
    """
    averages = [leaf for leaf in checkpoint.leaves if is_average(leaf) and leaf.type.kind == "float"]
    narrow = [leaf for leaf in averages if leaf.type.bits <= HALF_BITS]
    parameters = [
        leaf
        for leaf in checkpoint.with_role(Role.PARAMETER)
        if leaf.type.kind == "float" and not is_average(leaf)
    ]
    wider = [leaf for leaf in parameters if narrow and leaf.type.bits > narrow[0].type.bits]
    if not narrow or len(wider) * 2 <= len(parameters):
        return
    yield Hit(
        location=Location(path=checkpoint.path, leaf=narrow[0].path, step=checkpoint.step),
        message=(
            f"{counted(len(narrow), 'leaf', 'leaves')} of an average {'is' if len(narrow) == 1 else 'are'} "
            f"{narrow[0].dtype} over {wider[0].dtype} parameters: {narrow[0].path}"
        ),
        evidence={"count": len(narrow), "dtype": narrow[0].dtype, "parameters": wider[0].dtype},
        fix="keep the average in float32",
    )
