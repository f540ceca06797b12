"""JD111."""

from __future__ import annotations

from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.prescribes import flag_off
from jaxdoctor.rules.rule import Hits, rule

FLAG = "xla_gpu_default_to_alg_dot_bf16_bf16_f32"


@rule("JD111", Severity.WARNING, prescribes=flag_off)
def bf16_dots_by_flag(environment: Environment) -> Hits:
    """An XLA flag turns float32 products on a GPU to bfloat16.

    ## What it saw

    XLA_FLAGS sets `--xla_gpu_default_to_alg_dot_bf16_bf16_f32`, which is off by default and exists from
    jaxlib 0.10.0 on.

    ## Why it matters

    At the default level float32 operands then keep 7 mantissa bits, three fewer than with TF32. `high`
    and `highest` are not touched: so it is in what jaxlib 0.10.2 compiles for an RTX 4090 with the flag
    (`benchmarks/compile_for_gpu.py`).

    ## What to do

    Take the flag out. Where products may be bfloat16, ask for it by name and for those alone, with
    `precision="BF16_BF16_F32"`.

    ## Example

    ```text
    JD111 warning bf16-dots-by-flag: --xla_gpu_default_to_alg_dot_bf16_bf16_f32=true leaves float32 products
      7 mantissa bits
    ```

    ## Sources

    - https://github.com/openxla/xla/commit/4b7c2574db
    - https://docs.jax.dev/en/latest/jax.lax.html#jax.lax.DotAlgorithmPreset
    """
    value = environment.xla_flags.get(FLAG, "false")
    if value.lower() in {"true", "1"}:
        yield Hit(
            location=Location(path="XLA_FLAGS"),
            message=f"--{FLAG}={value} leaves float32 products 7 mantissa bits",
            evidence={"flag": FLAG, "value": value, "jaxlib": environment.versions.get("jaxlib")},
            fix=f"take --{FLAG} out of XLA_FLAGS",
        )
