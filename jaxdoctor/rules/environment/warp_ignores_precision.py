"""JD115."""

from __future__ import annotations

from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.versions import since
from jaxdoctor.rules.rule import Hits, rule


@rule("JD115", Severity.NOTE)
def warp_ignores_precision(environment: Environment) -> Hits:
    """Playground computes physics with MuJoCo Warp by default, which JAX's precision does not reach.

    ## What it saw

    The installed playground is 0.2.0 or newer.

    ## Why it matters

    From 0.2.0 on its environments use `impl='warp'`. Warp's kernels multiply in float32 whatever
    `jax_default_matmul_precision` says, so a probe of MJX says nothing about them, and setting
    `highest` changes the networks only.

    ## What to do

    Nothing, if you train with Warp: read a probe's verdict as one about MJX in JAX. To compute physics
    in JAX, load an environment with `config_overrides={"impl": "jax"}`.

    ## Example

    ```text
    JD115 note warp-ignores-precision: playground 0.2.0 runs physics in Warp unless given impl='jax'
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco_playground/releases
    - https://mujoco.readthedocs.io/en/stable/mjx.html
    """
    version = environment.versions.get("playground")
    if since(version, "0.2"):
        yield Hit(
            location=Location(path="playground"),
            message=f"playground {version} runs physics in Warp unless given impl='jax'",
            evidence={"playground": version},
            fix='load environments with config_overrides={"impl": "jax"} to have physics in JAX',
        )
