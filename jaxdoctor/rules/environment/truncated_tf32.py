"""JD103."""

from __future__ import annotations

from jaxdoctor.facts.delivery import Arithmetic, Deliveries
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD103", Severity.WARNING)
def truncated_tf32(deliveries: Deliveries) -> Hits:
    """TF32 products cut their operands off instead of rounding them.

    ## What it saw

    At the level that JAX is configured to, a product dropped the low 13 bits of a float32 operand
    toward zero.

    The window is jaxlib up to 0.5.3: Triton was then fed unrounded values. From 0.5.1 on Triton may
    take any product by default, and before where `--xla_gpu_triton_gemm_any` is set, as MJX's
    documentation advised.

    ## Why it matters

    The error of a product is up to twice as large as with rounding, and it has a sign: every factor
    shrinks. A mass matrix that is rebuilt from truncated factors loses definiteness where one from
    rounded factors keeps it.

    ## What to do

    Install jaxlib 0.6.0 or newer. Where that cannot be, `XLA_FLAGS=--xla_gpu_enable_triton_gemm=false`
    gives the product to cuBLAS, which rounds.

    ## Example

    ```text
    JD103 warning truncated-tf32: 64x64 @ 64x64 is cut off to 10 mantissa bits by jaxlib 0.5.3
    ```

    ## Sources

    - https://github.com/openxla/xla/commit/bffa344d42
    - https://github.com/openxla/xla/commit/b39e89e688
    - https://github.com/google-deepmind/mujoco_playground/issues/112
    """
    for product in deliveries.at(deliveries.configured):
        if product.arithmetic is Arithmetic.TF32_TRUNCATED:
            by = f"jaxlib {deliveries.jaxlib}" if deliveries.jaxlib else "this jaxlib"
            yield Hit(
                location=Location(path=deliveries.machine),
                message=f"{product.shape} is cut off to {product.mantissa_bits} mantissa bits by {by}",
                evidence={"shape": product.shape, "jaxlib": deliveries.jaxlib, "source": product.source},
                fix="install jaxlib 0.6.0 or newer",
            )
            return
