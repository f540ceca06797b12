"""JD118."""

from __future__ import annotations

from jaxdoctor.facts.environment import Environment
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD118", Severity.WARNING)
def idle_gpu(environment: Environment) -> Hits:
    """JAX computes on the CPU although this machine has a GPU.

    ## What it saw

    nvidia-smi lists a card, and `jax.devices()` has none.

    ## Why it matters

    A jaxlib without CUDA is the usual cause, then a driver that is too old for it, then
    JAX_PLATFORMS=cpu. JAX falls back to the CPU, with a warning at most. What is measured here is then
    not what a run on the card would get.

    ## What to do

    Install JAX with CUDA for your driver, as JAX's installation page says, and look at the warning that
    `python -c "import jax; jax.devices()"` prints.

    ## Example

    ```text
    JD118 warning idle-gpu: nvidia-smi lists Tesla T4, and JAX computes on the CPU
    ```

    ## Sources

    - https://docs.jax.dev/en/latest/installation.html
    """
    if environment.idle_gpus and not environment.elsewhere:
        asked = environment.settings.get("JAX_PLATFORMS", "")
        yield Hit(
            location=Location(path=environment.idle_gpus[0]),
            message=f"nvidia-smi lists {', '.join(environment.idle_gpus)}, and JAX computes on the CPU",
            evidence={"gpus": list(environment.idle_gpus), "JAX_PLATFORMS": asked},
            fix="unset JAX_PLATFORMS" if asked else "install JAX with CUDA",
            severity=Severity.NOTE if asked else None,
        )
