"""JD206."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.rules.rule import Hits, rule


@rule("JD206", Severity.ERROR)
def highest_not_enough(outcome: Outcome) -> Hits:
    """Setting the precision to highest does not mend a rollout: some products do not listen.

    ## What it saw

    With every product at 23 bits, except those whose code passes a `precision` argument, replays still
    fail.

    ## Why it matters

    `jax_default_matmul_precision` is a default. MJX's convex collision asks for `Precision.HIGH` by name,
    and HIGH is TF32 on cuBLAS always and in Triton from jaxlib 0.11.1 on.

    ## What to do

    Replace mesh and box contacts by spheres, capsules and planes where they can be, or enable x64.

    ## Example

    ```text
    JD206 error highest-not-enough: 12 of 16 replays fail under highest too, because products that name a
    precision of their own stay at 10 bits: mujoco/mjx/_src/collision_convex.py:628 (_create_contact_manifold)
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco/blob/main/mjx/mujoco/mjx/_src/collision_convex.py
    """
    trial = outcome.at_highest
    if trial is None or not trial.failed or outcome.verdict is not Verdict.PRECISION:
        return
    lines = ", ".join(outcome.own_precision)
    yield Hit(
        location=Location(path=outcome.subject, leaf=trial.first_bad_field, step=trial.first_bad_step),
        message=(
            f"{trial.failed} of {trial.replays} replays fail under highest too, because products that name a "
            f"precision of their own stay at {outcome.delivered_bits} bits: {lines}"
        ),
        evidence={"failed": trial.failed, "replays": trial.replays, "lines": list(outcome.own_precision)},
        fix="use primitive geoms in place of meshes, or enable x64, whose products are never TF32",
    )
