"""JD130."""

from __future__ import annotations

from jaxdoctor.facts.bfloat16 import Asked, Bfloat16Use
from jaxdoctor.facts.finding import Hit, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD130", Severity.NOTE)
def bf16_not_native(use: Bfloat16Use) -> Hits:
    """Bfloat16 is asked for on a card that does not multiply it.

    ## What it saw

    `JAX_DEFAULT_MATMUL_PRECISION` names an algorithm of bfloat16, or a checkpoint, the configuration beside
    it or an update function has arrays in bfloat16, and the card is older than compute capability 8.0:
    T4, V100, RTX 20, P100. `jaxdoctor cards` says of each card whether bfloat16 is native.

    ## Why it matters

    Such an algorithm is refused: XLA supports it from compute capability 8.0 on, and every product that
    is compiled with it fails.

    Arrays in bfloat16 work. XLA computes their products in float32 and rounds the result, so that they take
    half of the memory and are no faster than float32; only float16 has matrix units there. Results differ
    from those of a newer card in the last of 7 mantissa bits.

    ## What to do

    Take the algorithm out of the setting. Keep bfloat16 arrays for their memory, or run on a card from
    compute capability 8.0 on.

    ## Example

    ```text
    JD130 note bf16-not-native: 12 of 14 leaves are bfloat16, which t4 computes in float32
    ```

    ## Sources

    - https://github.com/openxla/xla/blob/main/xla/service/algorithm_util.cc
    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#arithmetic-instructions
    """
    if use.native:
        return
    evidence = {"card": use.card, "asked": use.asked.value}
    if use.asked is Asked.PRESET:
        yield Hit(
            location=use.location,
            message=f"{use.what} is an algorithm that XLA refuses on {use.card}",
            evidence=evidence,
            fix=f"unset {use.location.path}, or set it to highest",
            severity=Severity.ERROR,
        )
        return
    yield Hit(
        location=use.location,
        message=f"{use.what}, which {use.card} computes in float32",
        evidence=evidence,
        fix="keep it for the memory, and expect no speed of it",
    )
