"""JD113."""

from __future__ import annotations

from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.versions import within
from jaxdoctor.rules.rule import Hits, rule


@rule("JD113", Severity.WARNING)
def brax_statistics_stall(environment: Environment) -> Hits:
    """This Brax counts the observations of its running statistics in float32.

    ## What it saw

    The installed brax is older than 0.14.0.

    ## Why it matters

    The normalizer's `count` is float32. It grows by the number of observations in a batch, and stops
    growing for good at 16,777,216 (2^24) times that number or soon after, because the sum then rounds
    to what it was. From then on every new batch has the same weight, and mean and deviation no longer
    average over the run.

    ## What to do

    Install brax 0.14.0 or newer. `jaxdoctor scan-checkpoint` tells whether a saved count stands still.

    ## Example

    ```text
    JD113 warning brax-statistics-stall: brax 0.13.0 counts observations in float32, which stops at 2^24
      increments
    ```

    ## Sources

    - https://github.com/google/brax/commit/ca7649c
    """
    version = environment.versions.get("brax")
    if not environment.elsewhere and within(version, "0", "0.14"):
        yield Hit(
            location=Location(path="brax"),
            message=f"brax {version} counts observations in float32, which stops at 2^24 increments",
            evidence={"brax": version, "limit": 2**24},
            fix="install brax 0.14.0 or newer",
        )
