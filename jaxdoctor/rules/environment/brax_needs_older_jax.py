"""JD114."""

from __future__ import annotations

from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.versions import since, within
from jaxdoctor.rules.rule import Hits, rule


@rule("JD114", Severity.WARNING)
def brax_needs_older_jax(environment: Environment) -> Hits:
    """The trainers of this Brax call a function that this JAX no longer has.

    ## What it saw

    The installed brax is 0.14.2 or older, and jax is 0.10.0 or newer.

    ## Why it matters

    PPO, SAC and APG of that Brax call `jax.device_put_replicated`, which jax 0.10.0 removed. Training
    ends with an AttributeError before its first step. Loading and evaluating a policy still works.

    ## What to do

    Install `jax<0.10` beside that Brax, or a Brax that no longer needs the function.

    ## Example

    ```text
    JD114 warning brax-needs-older-jax: brax 0.14.2 calls jax.device_put_replicated, which jax 0.10.2 does
      not have
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/migrate_pmap.html#drop-in-replacements
    - https://github.com/google/brax/blob/main/brax/training/agents/ppo/train.py
    """
    brax, jax = environment.versions.get("brax"), environment.versions.get("jax")
    if not environment.elsewhere and within(brax, "0", "0.14.3") and since(jax, "0.10"):
        yield Hit(
            location=Location(path="brax"),
            message=f"brax {brax} calls jax.device_put_replicated, which jax {jax} does not have",
            evidence={"brax": brax, "jax": jax},
            fix="install 'jax<0.10' to train with this Brax",
        )
