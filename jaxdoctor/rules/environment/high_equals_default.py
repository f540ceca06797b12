"""JD102."""

from __future__ import annotations

from jaxdoctor.facts.delivery import DEFAULT, HIGH, MEASURED, Deliveries
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.precision import F32
from jaxdoctor.rules.rule import Hits, rule


@rule("JD102", Severity.NOTE)
def high_equals_default(deliveries: Deliveries) -> Hits:
    """Level HIGH gives float32 products no more bits than DEFAULT does.

    ## What it saw

    Products that DEFAULT shortens keep the same number of mantissa bits under
    `jax_default_matmul_precision="high"`, measured here or expected of the card that was asked about.

    It is a warning where JAX is configured to `high`, and a note otherwise.

    ## Why it matters

    HIGH is what much advice against NaN names. cuBLAS takes it as TF32 in every version of jaxlib, as
    it takes DEFAULT, and from jaxlib 0.11.1 on Triton does so too. Up to 0.11.0 it helped where the
    autotuner happened to choose Triton. Whoever sets it pays attention and gets nothing. The finding says
    "may" where the installed jaxlib leaves the choice of kernel open.

    ## What to do

    Leave it out. Where a probe finds that a model requires more bits, set `highest`.

    ## Example

    ```text
    JD102 note high-equals-default: HIGH is no better than DEFAULT here: 14 of the 14 matrix shapes that
      DEFAULT shortens stay at 10 of 23 bits
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/_autosummary/jax.default_matmul_precision.html
    - https://github.com/openxla/xla/commit/251becc51b
    - https://github.com/google/brax/issues/501
    """
    at_default = {(each.op, each.shape): each for each in deliveries.shapes(DEFAULT, below=F32.mantissa_bits)}
    at_high = {(each.op, each.shape): each for each in deliveries.shapes(HIGH, below=F32.mantissa_bits)}
    equal = [
        each
        for key, each in at_default.items()
        if key in at_high and at_high[key].mantissa_bits <= each.mantissa_bits
    ]
    if not equal:
        return
    bits = min(each.mantissa_bits for each in equal)
    # The autotuner chooses the kernel, and up to jaxlib 0.11.0 one of them computes HIGH in float32.
    certain = equal[0].source == MEASURED or {DEFAULT, HIGH} <= deliveries.certain
    yield Hit(
        location=Location(path=deliveries.machine),
        message=(
            f"HIGH {'is' if certain else 'may be'} no better than DEFAULT here: {len(equal)} of the "
            f"{len(at_default)} matrix shapes that DEFAULT shortens {'stay' if certain else 'may stay'} at "
            f"{bits} of {F32.mantissa_bits} bits"
        ),
        evidence={
            "equal": len(equal),
            "shortened": len(at_default),
            "source": equal[0].source,
            "certain": certain,
        },
        fix="set jax_default_matmul_precision to highest where more bits are required, else leave it unset",
        severity=Severity.WARNING if deliveries.configured == HIGH else None,
    )
