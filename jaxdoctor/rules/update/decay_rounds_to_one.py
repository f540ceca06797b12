"""JD515."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Severity
from jaxdoctor.facts.signature import LostDecay, Signature
from jaxdoctor.rules.rule import Hits, rule


@rule("JD515", Severity.WARNING)
def decay_rounds_to_one(signature: Signature) -> Hits:
    """A decay is held in half precision, where it is exactly 1: what it multiplies never fades.

    ## What it saw

    In the traced program a number that is the same in every call multiplies a leaf of the state, and the sum
    of that and something else is the leaf's next value. The number is 1 in bfloat16 or float16. That it was
    meant to be less is known: it was another before it was rounded, or what is added is multiplied by 1
    minus the same number, which is then 0.

    ## Why it matters

    bfloat16 has no number between 0.99609 and 1, float16 none between 0.99951 and 1. A running average whose
    decay is 1 keeps its first value for the whole run: Adam's second moment stays 0, and the parameters are
    NaN or infinite after a few steps. A factor that should make a weight fade does nothing.

    ## What to do

    Hold the decay in float32, or as a Python number, and the average in float32 as well: in bfloat16 it would
    round each small change away. `optax.inject_hyperparams` gives its numbers the dtype of the parameters,
    unless `hyperparam_dtype=jnp.float32` is given; made from float32 copies of them, its moments are float32
    too. The finding names a fix where the factor is a leaf of the state and the update settles with that.

    ## Example

    ```text
    JD515 warning decay-rounds-to-one: hyperparams/b2 is 1 in bfloat16 and 1 minus it is 0: nu/w never moves
    ```

    ## Sources

    - https://github.com/google-deepmind/optax/issues/1414
    """
    for each in signature.lost_decays:
        yield Hit(
            location=signature.location(each.leaves[0], each.site),
            message=f"{_what(each)}{signature.context}",
            evidence={
                "leaves": list(each.leaves),
                "factor": each.factor,
                "dtype": each.dtype,
                "number": each.number,
                "setting": signature.setting,
            },
            fix=each.fix,
        )


def _what(decay: LostDecay) -> str:
    name = decay.factor or "a factor"
    more = f" (and {len(decay.leaves) - 1} more)" if len(decay.leaves) > 1 else ""
    was = f"{name} is 1 in" if decay.number == 1 else f"{name} of {decay.number:.6g} becomes 1 in"
    end = "moves" if decay.still else "fades"
    rest = " and 1 minus it is 0" if decay.still else ""
    return f"{was} {decay.dtype}{rest}: {decay.leaves[0]}{more} never {end}"
