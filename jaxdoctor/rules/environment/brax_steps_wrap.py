"""JD112."""

from __future__ import annotations

from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.versions import within
from jaxdoctor.rules.rule import Hits, rule

INT32_MAX = 2**31 - 1


@rule("JD112", Severity.WARNING)
def brax_steps_wrap(environment: Environment) -> Hits:
    """This Brax counts environment steps in 32 bits.

    ## What it saw

    The installed brax is older than 0.12.2.

    ## Why it matters

    The trainers keep `env_steps` as int32. At 2,147,483,647 steps, hours on a GPU, it turns negative:
    loggers drop the metrics, since steps do not grow; checkpoints go into folders with negative names;
    and the assertion at the end of training fails after the whole run.

    ## What to do

    Install brax 0.12.2 or newer, or stay below 2,147,483,647 steps in one call.

    ## Example

    ```text
    JD112 warning brax-steps-wrap: brax 0.12.1 counts environment steps in int32, up to 2147483647
    ```

    ## Sources

    - https://github.com/google/brax/issues/578
    - https://github.com/google-deepmind/mujoco_playground/issues/48
    - https://github.com/google/brax/commit/84b9b4f
    """
    version = environment.versions.get("brax")
    if not environment.elsewhere and within(version, "0", "0.12.2"):
        yield Hit(
            location=Location(path="brax"),
            message=f"brax {version} counts environment steps in int32, up to {INT32_MAX}",
            evidence={"brax": version, "limit": INT32_MAX},
            fix="install brax 0.12.2 or newer",
        )
