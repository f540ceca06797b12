"""JD108."""

from __future__ import annotations

from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.prescribes import highest_precision
from jaxdoctor.rules.rule import Hits, rule

VARIABLE = "NVIDIA_TF32_OVERRIDE"
TRUE = {"true", "1"}


@rule("JD108", Severity.WARNING, prescribes=highest_precision)
def tf32_override_misses_triton(environment: Environment) -> Hits:
    """NVIDIA_TF32_OVERRIDE=0 is set, and some products still run as TF32.

    ## What it saw

    The variable is set, the card has TF32, and XLA may give products to Triton.

    ## Why it matters

    NVIDIA's libraries, cuBLAS and cuDNN, obey the variable. Triton compiles its own kernels and does
    not know it. From jaxlib 0.5.1 on the autotuner may choose Triton for any product, shape by shape,
    so the same program is part float32 and part TF32.

    ## What to do

    Set `JAX_DEFAULT_MATMUL_PRECISION=highest`, which reaches both, and unset the variable.

    ## Example

    ```text
    JD108 warning tf32-override-misses-triton: NVIDIA_TF32_OVERRIDE=0 reaches cuBLAS and cuDNN, not the
      products that Triton takes
    ```

    ## Sources

    - https://docs.nvidia.com/cuda/cublas/#cublas-tf32-override
    - https://github.com/openxla/xla/commit/b39e89e688
    """
    flags = environment.xla_flags
    triton = flags.get("xla_gpu_enable_triton_gemm", "true").lower() in TRUE
    any_shape = flags.get("xla_gpu_triton_gemm_any", "true").lower() in TRUE
    exact = environment.settings.get("JAX_DEFAULT_MATMUL_PRECISION") in {"highest", "float32"}
    if (
        environment.settings.get(VARIABLE) == "0"
        and environment.accelerator.tf32
        and triton
        and any_shape
        and not exact
    ):
        yield Hit(
            location=Location(path=VARIABLE),
            message=f"{VARIABLE}=0 reaches cuBLAS and cuDNN, not the products that Triton takes",
            evidence={"card": environment.accelerator.name, "jaxlib": environment.versions.get("jaxlib")},
            fix="set JAX_DEFAULT_MATMUL_PRECISION=highest instead",
        )
