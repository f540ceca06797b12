"""JD309."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.text import agreed
from jaxdoctor.rules.rule import Hits, rule


@rule("JD309", Severity.ERROR)
def wrong_byte_order(checkpoint: Checkpoint) -> Hits:
    """Values are ordinary numbers only when their bytes are read in the other order.

    ## What it saw

    Arrays of float32 or float64 in which nearly half of the values or more are below 1e-20, above 1e10
    or not finite, and of which all lie between those once the bytes of each value are reversed.

    ## Why it matters

    The file was written on a machine of the other byte order, or by code that named the wrong one. Every
    loader that believes the header reads noise, with NaN among it.

    ## What to do

    Write it anew with the bytes reversed: `array.byteswap()` in NumPy, once for each array.

    ## Example

    ```text
    JD309 error wrong-byte-order: 14 of 16 arrays are ordinary only with their bytes reversed, the first is w
    ```

    ## Sources

    - https://numpy.org/doc/stable/user/byteswapping.html
    """
    read = [leaf for leaf in checkpoint.leaves if leaf.statistics is not None and leaf.type.kind == "float"]
    swapped = [leaf for leaf in read if leaf.statistics is not None and leaf.statistics.byte_swapped]
    if swapped:
        yield Hit(
            location=Location(path=checkpoint.path, leaf=swapped[0].path, step=checkpoint.step),
            message=(
                f"{len(swapped)} of {len(read)} arrays "
                f"{agreed(len(swapped))} ordinary only with bytes reversed, "
                f"the first is {swapped[0].path}"
            ),
            evidence={"count": len(swapped), "leaves": [leaf.path for leaf in swapped[:8]]},
            fix="write it anew with array.byteswap()",
        )
