"""JD325."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Leaf, Role
from jaxdoctor.facts.text import agreed
from jaxdoctor.rules.rule import Hits, rule

BFLOAT16_CLEAR = 16
"""Low mantissa bits of a float32 that bfloat16 does not have."""

TF32_CLEAR = 13
"""Those that float16 and TF32 do not have."""

JUDGED = {Role.PARAMETER, Role.OPTIMIZER, Role.STATISTIC}


@rule("JD325", Severity.WARNING)
def hidden_truncation(checkpoint: Checkpoint) -> Hits:
    """Float32 leaves hold values of a narrower type.

    ## What it saw

    In a sample of many different values, none uses the low mantissa bits: 16 of 23 are zero after
    bfloat16, 13 after float16 or TF32. Zeros, ones, small integers, quarters and values on a fixed grid
    fit any type and are set aside.

    ## Why it matters

    The dtype promises 24 bits and 8 or 11 are there: the values were rounded on their way, by a cast or
    by a product on tensor cores. Training on from here starts from rounded weights. Weights that were
    trained in bfloat16 and exported as float32 look like this too; without an optimizer beside them it
    is a note.

    ## What to do

    Find the cast: a policy's compute dtype that reached the master weights, a restore into a bfloat16
    template, an export. Keep master weights and moments in float32.

    ## Example

    ```text
    JD325 warning hidden-truncation: 12 of 14 float32 leaves hold values of bfloat16, the first is params/w
    ```

    ## Sources

    - https://github.com/volcengine/verl/issues/296
    - https://github.com/Unakar/Logic-RL/issues/24
    """
    judged = [
        leaf
        for leaf in checkpoint.leaves
        if leaf.role in JUDGED and leaf.dtype == "float32" and leaf.statistics is not None
    ]
    narrow = [(leaf, type_) for leaf in judged if (type_ := _narrow_type(leaf)) is not None]
    if not narrow:
        return
    trained = bool(checkpoint.with_role(Role.OPTIMIZER))
    first, name = narrow[0]
    yield Hit(
        location=Location(path=checkpoint.path, leaf=first.path, step=checkpoint.step),
        message=(
            f"{len(narrow)} of {len(judged)} float32 leaves "
            f"{agreed(len(narrow), 'holds', 'hold')} values of {name}, the first is {first.path}"
        ),
        evidence={
            "leaves": [leaf.path for leaf, _ in narrow[:8]],
            "count": len(narrow),
            "low_bits_clear": first.statistics.low_bits_clear if first.statistics else None,
        },
        fix="keep master weights and moments in float32 all the way",
        severity=None if trained else Severity.NOTE,
    )


def _narrow_type(leaf: Leaf) -> str | None:
    clear = leaf.statistics.low_bits_clear if leaf.statistics is not None else None
    if clear is None or clear < TF32_CLEAR:
        return None
    return "bfloat16" if clear >= BFLOAT16_CLEAR else "float16 or TF32"
