"""JD234."""

from __future__ import annotations

from math import isfinite

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.rules.rule import Hits, rule


@rule("JD234", Severity.ERROR)
def policy_first(outcome: Outcome) -> Hits:
    """The policy is not finite before the physics is.

    ## What it saw

    In a closed loop the first number that was not finite is one that the policy computes: the normalised
    observation, the network's output, or the action.

    ## Why it matters

    The physics and its precision play no part in it. A normaliser whose statistics hold NaN, a standard
    deviation of 0, or a weight that is not finite makes NaN of every observation; a network that
    overflows does it for those it never saw.

    ## What to do

    Scan the checkpoint (`jaxdoctor scan-checkpoint`). Go back to the last one whose statistics and
    weights are finite. Where the observation is far from what the normaliser knows, clip it.

    ## Example

    ```text
    JD234 error policy-first: the normaliser is first not finite, normalised at step 0, from a finite
    observation of magnitude 1.2
    ```

    ## Sources

    - https://github.com/google/brax/blob/main/brax/training/acme/running_statistics.py
    """
    failing = [
        trial for trial in outcome.trials if trial.episodes is not None and trial.episodes.part is not None
    ]
    for trial in failing[:1]:
        episodes = trial.episodes
        if episodes is None or episodes.part is None or not episodes.part.is_the_policys:
            continue
        seen = ""
        if episodes.magnitude is not None:
            seen = f", from a finite observation of magnitude {episodes.magnitude:.2g}"
        if episodes.deviations is not None and isfinite(episodes.deviations):
            seen += f", {episodes.deviations:.2g} standard deviations from what it knows"
        yield Hit(
            location=Location(path=outcome.subject, leaf=trial.first_bad_field, step=trial.first_bad_step),
            message=(
                f"the {episodes.part} is first not finite, {trial.first_bad_field} at step "
                f"{trial.first_bad_step}{seen}"
            ),
            evidence={"part": episodes.part.value, "failed": trial.failed, "replays": trial.replays},
            fix="scan the policy's checkpoint, and go back to the last one whose numbers are finite",
        )
