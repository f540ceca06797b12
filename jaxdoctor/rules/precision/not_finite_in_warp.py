"""JD252."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.facts.text import agreed
from jaxdoctor.rules.rule import Hits, rule


@rule("JD252", Severity.ERROR)
def not_finite_in_warp(outcome: Outcome) -> Hits:
    """A rollout stops being finite in MuJoCo Warp.

    ## What it saw

    With `--engine warp` the same start states and controls were replayed in MuJoCo Warp, through MJX's
    `impl="warp"`. A replay went NaN or infinite.

    ## Why it matters

    MuJoCo Playground runs its physics in Warp by default since 0.2. Warp computes in float32 and takes no
    precision from JAX: neither `jax_default_matmul_precision` nor x64 reaches its kernels.

    ## What to do

    Where MJX keeps the rollout finite, run with `impl="jax"`. Else mend the model, as the other findings say.

    ## Example

    ```text
    JD252 error not-finite-in-warp: 3 of 16 replays are not finite in MuJoCo Warp, first qacc at step 12; no
    setting of JAX reaches it
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/mjwarp/index.html
    - https://github.com/google-deepmind/mujoco_playground/releases
    """
    warp = outcome.warp
    if warp is None or not warp.failed:
        return
    yield Hit(
        location=Location(path=outcome.subject, leaf=warp.first_bad_field, step=warp.first_bad_step),
        message=(
            f"{warp.failed} of {warp.replays} replays {agreed(warp.failed)} not finite in MuJoCo Warp, first "
            f"{warp.first_bad_field} at step {warp.first_bad_step}; no setting of JAX changes that"
        ),
        evidence={"failed": warp.failed, "replays": warp.replays},
        fix='run the physics with impl="jax", or mend the model',
    )
