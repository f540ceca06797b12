"""JD323."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule

HALF_BITS = 16
SECOND = 2


@rule("JD323", Severity.WARNING)
def optimizer_narrower(checkpoint: Checkpoint) -> Hits:
    """The optimizer keeps second moments in 16 bits.

    ## What it saw

    A mean of squared gradients (`nu`, `exp_avg_sq`, `v`) in bfloat16 or float16. A first moment in
    bfloat16 is a choice that Optax supports with `mu_dtype`, and float32 moments over bfloat16
    parameters are as it should be: nothing is said of those.

    ## Why it matters

    With b2 = 0.999 each update adds a thousandth of a square to the mean. bfloat16 has 8 bits of
    precision, so that such an addition is rounded away: the mean stops following the gradients.

    ## What to do

    Initialise the optimizer with float32 parameters, or cast its state: `optax.adam` takes the moments'
    dtype from the parameters.

    ## Example

    ```text
    JD323 warning optimizer-narrower: 14 second moments in bfloat16, the first is opt_state/0/nu/w
    ```

    ## Sources

    - https://github.com/google-deepmind/optax/issues/1207
    - https://github.com/volcengine/verl/issues/296
    """
    moments = [leaf for leaf in checkpoint.leaves if leaf.moment == SECOND]
    narrow = [leaf for leaf in moments if leaf.type.kind == "float" and leaf.type.bits <= HALF_BITS]
    if narrow:
        yield Hit(
            location=Location(path=checkpoint.path, leaf=narrow[0].path, step=checkpoint.step),
            message=(
                f"{counted(len(narrow), 'second moment')} in {narrow[0].dtype}, the first is {narrow[0].path}"
            ),
            evidence={"count": len(narrow), "of": len(moments), "dtype": narrow[0].dtype},
            fix="keep second moments in float32",
        )
