"""JD280."""

from __future__ import annotations

from jaxdoctor.facts.bundle_replay import BundleReplay
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD280", Severity.ERROR)
def recorded_failure_repeats(bundle: BundleReplay) -> Hits:
    """A failure that was recorded in a bundle happens here too.

    ## What it saw

    The recorded steps were replayed from the recorded state, with the recorded controls, and the state or
    another floating leaf was NaN or infinite again: in the same step and field, or in others, which it says.

    ## Why it matters

    A failure that repeats can be mended here: change the precision, the model or the version, and replay the
    bundle. Where it repeats in MuJoCo's C engine too, which computes in float64, it is the model's, and no
    precision mends it. Where it repeats in the same step and field as it was recorded, nothing that differs
    between the two machines plays a part.

    ## What to do

    Replay the bundle at a higher precision, at x64 and in C, and see which of them stays finite:
    `jaxdoctor replay failure.zip --precision f32 --x64 --engine c`. `--to-xml FOLDER` writes what
    MuJoCo's viewer opens at the failing state.

    ## Example

    ```text
    JD280 error recorded-failure-repeats: at tf32 (emulated) qLD is not finite at step 12, as was recorded
    ```

    ## Sources

    - https://mujoco.readthedocs.io/en/stable/computation/index.html#reproducibility
    """
    for run in bundle.runs:
        if not run.failed:
            continue
        recorded = (
            "as was recorded"
            if bundle.repeats(run)
            else f"and at {bundle.precision} it was {bundle.field} at step {bundle.step}"
        )
        yield Hit(
            location=Location(path=bundle.bundle, leaf=run.first_bad_field, step=run.first_bad_step),
            message=(
                f"at {run.how} {run.first_bad_field} is not finite at step {run.first_bad_step}, {recorded}"
            ),
            evidence={
                "how": run.how,
                "step": run.first_bad_step,
                "field": run.first_bad_field,
                "recorded_step": bundle.step,
                "recorded_field": bundle.field,
            },
            fix=f"replay {bundle.bundle} at a higher precision, at x64 and in C, and see which stays finite",
        )
