"""JD101."""

from __future__ import annotations

from jaxdoctor.delivery import Deliveries
from jaxdoctor.finding import Hit, Location, Severity
from jaxdoctor.precision import F32
from jaxdoctor.rule import Hits, rule


@rule("JD101", Severity.NOTE)
def tf32_by_default(deliveries: Deliveries) -> Hits:
    """Float32 products get fewer than 23 mantissa bits while nothing is configured.

    ## What it saw

    The product of two float32 arrays under `jax_default_matmul_precision="default"` lost low mantissa
    bits of its operands: 10 are left under TF32, 7 under bfloat16.

    ## Why it matters

    JAX lets NVIDIA cards from compute capability 8.0 on multiply float32 as TF32, and the output's dtype
    does not tell. Most policies do not mind. A mass matrix or a Newton Hessian that is close to singular
    can stop being positive definite, and its Cholesky factor is then NaN.

    ## What to do

    Nothing, unless a probe of your model finds that it requires more bits than it gets. Then set
    `jax_default_matmul_precision` to `highest`.

    ## Example

    ```text
    JD101 note tf32-by-default: 64x64 @ 64x64 gets 10 of 23 mantissa bits by default (tf32-rounded)
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/_autosummary/jax.default_matmul_precision.html
    - https://github.com/jax-ml/jax/issues/7010
    """
    bits = deliveries.bits("default")
    if bits is None or bits >= F32.mantissa_bits:
        return
    worst = next(product for product in deliveries.at("default") if product.mantissa_bits == bits)
    yield Hit(
        location=Location(path=deliveries.machine),
        message=(
            f"{worst.shape} gets {bits} of {F32.mantissa_bits} mantissa bits by default ({worst.arithmetic})"
        ),
        evidence={"mantissa_bits": bits, "shape": worst.shape, "arithmetic": worst.arithmetic.value},
    )
