"""JD104."""

from __future__ import annotations

from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.prescribes import removal
from jaxdoctor.rules.rule import Hits, rule

PRECISION = "JAX_DEFAULT_MATMUL_PRECISION"


@rule("JD104", Severity.ERROR, prescribes=removal)
def refused_jax_setting(environment: Environment) -> Hits:
    """JAX refuses a setting of this environment and does not start.

    ## What it saw

    `import jax`, or the first use of a device, raises with a JAX_* variable as it is set here. Each
    variable was tried alone in a process of its own.

    ## Why it matters

    The popular advice against NaN, `jax.lax.Precision.HIGH` as the value of
    `jax_default_matmul_precision`, is such a value: since jax 0.4.31 the option takes only words in
    small letters (`default`, `high`, `highest`, `float32`) and the names of dot algorithms
    (`F32_F32_F32`). The enum and `HIGH` in capitals raise.

    ## What to do

    Correct the value or unset the variable. For products in full float32 the word is `highest`.

    ## Example

    ```text
    JD104 error refused-jax-setting: JAX_DEFAULT_MATMUL_PRECISION=jax.lax.Precision.HIGH keeps JAX from
      starting
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/_autosummary/jax.default_matmul_precision.html
    - https://github.com/jax-ml/jax/commit/fa73077146
    - https://github.com/google/brax/issues/501
    """
    for name, complaint in environment.refused_settings.items():
        value = environment.settings.get(name, "")
        yield Hit(
            location=Location(path=name),
            message=f"{name}={value} keeps JAX from starting",
            evidence={"value": value, "jax_says": complaint},
            fix=f"{'set it to highest, or ' if name == PRECISION else ''}unset {name}",
        )
