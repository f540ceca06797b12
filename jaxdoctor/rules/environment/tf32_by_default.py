"""JD101."""

from __future__ import annotations

from jaxdoctor.facts.delivery import Deliveries
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.precision import F32
from jaxdoctor.facts.text import agreed
from jaxdoctor.rules.rule import Hits, rule


@rule("JD101", Severity.NOTE)
def tf32_by_default(deliveries: Deliveries) -> Hits:
    """Float32 products get fewer than 23 mantissa bits as JAX is configured.

    ## What it saw

    The product of two float32 arrays lost low mantissa bits of its operands, at the level that JAX is
    configured to: 10 are left under TF32, 7 under bfloat16.

    The number was measured by sending known values through the product, or it is what a card that is
    not here is expected to do with the installed jaxlib; the finding's evidence says which.

    ## Why it matters

    JAX lets NVIDIA cards from compute capability 8.0 on multiply float32 as TF32, and TPUs as bfloat16.
    The result's dtype does not tell. Most policies do not mind. A mass matrix or a Newton Hessian that
    is close to singular can stop being positive definite, and its Cholesky factor is then NaN.

    It is not a matter of GeForce against data centre: an A100 does it too, and a T4 does not.

    ## What to do

    Nothing, unless a probe of your model finds that it requires more bits than it gets. Then set
    `jax_default_matmul_precision` to `highest`, and measure what it costs.

    ## Example

    ```text
    JD101 note tf32-by-default: 14 of 16 tested matrix shapes get 10 of 23 mantissa bits (tf32-rounded),
      e.g. 64x64 @ 64x64
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/_autosummary/jax.default_matmul_precision.html
    - https://github.com/jax-ml/jax/issues/7010
    - https://github.com/google-deepmind/mujoco_playground/issues/86
    """
    setting = deliveries.configured
    short = deliveries.shapes(setting, below=F32.mantissa_bits)
    if not short:
        return
    worst = short[0]
    total = len({(product.op, product.shape) for product in deliveries.at(setting)})
    yield Hit(
        location=Location(path=deliveries.machine),
        message=(
            f"{len(short)} of {total} tested matrix shapes {agreed(len(short), 'gets', 'get')} "
            f"{worst.mantissa_bits} of {F32.mantissa_bits} mantissa bits ({worst.arithmetic}), "
            f"e.g. {worst.shape}"
        ),
        evidence={
            "setting": setting,
            "mantissa_bits": worst.mantissa_bits,
            "arithmetic": worst.arithmetic.value,
            "shapes": [product.shape for product in short],
            "source": worst.source,
        },
    )
