"""JD106."""

from __future__ import annotations

from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.prescribes import flag_off
from jaxdoctor.rules.rule import Hits, rule

FLAG = "xla_gpu_enable_fast_min_max"


@rule("JD106", Severity.WARNING, prescribes=flag_off)
def nan_lost_in_max(environment: Environment) -> Hits:
    """An XLA flag lets `jnp.max` and `jnp.min` lose NaN on a GPU.

    ## What it saw

    XLA_FLAGS sets `--xla_gpu_enable_fast_min_max`, which is off by default.

    ## Why it matters

    With it the result of a maximum or a minimum may be the operand that is not NaN. A check such as
    `jnp.isnan(jnp.max(jnp.abs(x)))`, gradient clipping by the largest value, and a relu then pass a NaN
    by, and it shows up later and elsewhere.

    ## What to do

    Take the flag out. Check for NaN with `jnp.isfinite(x).all()`, which does not depend on it.

    ## Example

    ```text
    JD106 warning nan-lost-in-max: --xla_gpu_enable_fast_min_max=true lets maxima and minima drop NaN
    ```

    ## Sources

    - https://github.com/openxla/xla/blob/main/xla/debug_options_flags.cc
    """
    value = environment.xla_flags.get(FLAG, "false")
    if value.lower() in {"true", "1"}:
        yield Hit(
            location=Location(path="XLA_FLAGS"),
            message=f"--{FLAG}={value} lets maxima and minima drop NaN",
            evidence={"flag": FLAG, "value": value},
            fix=f"take --{FLAG} out of XLA_FLAGS",
        )
