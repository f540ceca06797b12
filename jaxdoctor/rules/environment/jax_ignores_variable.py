"""JD117."""

from __future__ import annotations

from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.prescribes import removal
from jaxdoctor.rules.rule import Hits, rule


@rule("JD117", Severity.WARNING, prescribes=removal)
def jax_ignores_variable(environment: Environment) -> Hits:
    """A JAX_* variable is set that this JAX does not know.

    ## What it saw

    The variable's name is like that of an option of this JAX, and is not one.

    ## Why it matters

    JAX reads the variables it knows and does not complain about others. A mistyped
    `JAX_DEFAULT_MATMUL_PRECISION` leaves the precision as it was, and the run looks protected.

    ## What to do

    Use the name that the finding gives, or unset the variable.

    ## Example

    ```text
    JD117 warning jax-ignores-variable: JAX_MATMUL_PRECISION=highest has no effect; an option is called
      JAX_DEFAULT_MATMUL_PRECISION
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/config_options.html
    """
    for name, near in environment.unread_settings.items():
        value = environment.settings.get(name, "")
        yield Hit(
            location=Location(path=name),
            message=f"{name}={value} has no effect; an option is called {near}",
            evidence={"variable": name, "value": value, "nearest": near},
            fix=f"set {near} instead, or unset {name}",
        )
