"""JD251."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Compiled, Outcome
from jaxdoctor.rules.rule import Hits, rule


@rule("JD251", Severity.WARNING)
def compiler_changes_verdict(outcome: Outcome) -> Hits:
    """Whether a float32 rollout stays finite depends on how XLA compiles it.

    ## What it saw

    At `--level 3` the native float32 replay is compiled once more with XLA's default flags, and once without
    fusion. Replays fail with some of the flags and not with others, from the same states.

    ## Why it matters

    Fusion and optimization change the order of sums and where a product is fused into an addition: the last
    bit of a result. A rollout that this decides has no float32 bit to spare. A new jaxlib, another card or
    another batch decides anew.

    ## What to do

    Treat it as a rollout that float32 is too narrow for: enable x64, or mend the model.

    ## Example

    ```text
    JD251 warning compiler-changes-verdict: 3 of 16 replays fail in float32 compiled with
    --xla_disable_hlo_passes=fusion, first qLD at step 12, and none with default flags
    ```

    ## Sources

    - https://openxla.org/xla/flags_guidance
    """
    failing = [run for run in outcome.compiled if run.failed]
    healthy = [run for run in outcome.compiled if not run.failed]
    if not failing or not healthy:
        return
    worst = max(failing, key=lambda run: run.failed / run.replays)
    yield Hit(
        location=Location(path=outcome.subject, leaf=worst.first_bad_field, step=worst.first_bad_step),
        message=(
            f"{worst.failed} of {worst.replays} replays fail in float32 compiled with {_flags(worst)}, first "
            f"{worst.first_bad_field} at step {worst.first_bad_step}, and none with {_flags(healthy[0])}"
        ),
        evidence={"failed": {_flags(run): run.failed for run in outcome.compiled}},
        fix="float32 has no bit to spare here: enable x64, or mend the model",
    )


def _flags(run: Compiled) -> str:
    return run.flags or "default flags"
