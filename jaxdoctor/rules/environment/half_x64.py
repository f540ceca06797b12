"""JD107."""

from __future__ import annotations

from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.versions import within
from jaxdoctor.rules.prescribes import removal
from jaxdoctor.rules.rule import Hits, rule

EXPLICIT = "JAX_EXPLICIT_X64_DTYPES"
BITS = "JAX_DEFAULT_DTYPE_BITS"
REMOVED = "0.10"


@rule("JD107", Severity.WARNING, prescribes=removal)
def half_x64(environment: Environment) -> Hits:
    """64-bit numbers are switched on for some arrays and not for others.

    ## What it saw

    Either `JAX_EXPLICIT_X64_DTYPES=allow` is set while `JAX_ENABLE_X64` is off: an array is float64
    where the code names that dtype, and float32 everywhere else. Or `JAX_DEFAULT_DTYPE_BITS=32` is set
    while x64 is on: an array is float32 where the code names no dtype, and float64 where NumPy made it.

    ## Why it matters

    A rollout then computes partly in float32 although it looks like float64, state changes its dtype
    between calls and is compiled again, and a checkpoint of it does not restore in a process that is
    set otherwise.

    ## What to do

    Choose one: `JAX_ENABLE_X64=1` for everything, or neither of the two.

    ## Example

    ```text
    JD107 warning half-x64: JAX_EXPLICIT_X64_DTYPES=allow without JAX_ENABLE_X64: float64 only where the
      code names it
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/default_dtypes.html
    - https://docs.jax.dev/en/latest/config_options.html
    """
    explicit = environment.settings.get(EXPLICIT, "").lower()
    if explicit == "allow" and not environment.x64:
        yield Hit(
            location=Location(path=EXPLICIT),
            message=f"{EXPLICIT}=allow without JAX_ENABLE_X64: float64 only where the code names it",
            evidence={"x64": False, EXPLICIT: explicit},
            fix=f"set JAX_ENABLE_X64=1, or unset {EXPLICIT}",
        )
    if (
        environment.settings.get(BITS) == "32"
        and environment.x64
        and within(environment.versions.get("jax"), "0.4", REMOVED)
    ):
        yield Hit(
            location=Location(path=BITS),
            message=f"{BITS}=32 with JAX_ENABLE_X64: arrays without a dtype stay float32",
            evidence={"x64": True, BITS: "32"},
            fix=f"unset {BITS}, or JAX_ENABLE_X64",
        )
