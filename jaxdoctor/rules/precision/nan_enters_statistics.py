"""JD232."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.rules.closed_loops import at, told
from jaxdoctor.rules.rule import Hits, rule


@rule("JD232", Severity.ERROR)
def nan_enters_statistics(outcome: Outcome) -> Hits:
    """An observation that is not finite, or far beyond all others, would enter a normaliser's statistics.

    ## What it saw

    A replay that was not done had an observation that is not finite, or one beyond 10^6 standard
    deviations of what the policy's normaliser knows.

    ## Why it matters

    Running statistics are sums over all environments: one NaN makes mean and standard deviation NaN for
    every one of them, and one huge value freezes them. The policy is lost with the next update, and a
    checkpoint that is saved then holds it.

    ## What to do

    Mend what breaks. Keep it out of the statistics: end the episode where the observation is not finite, and
    clip observations before they are added.

    ## Example

    ```text
    JD232 error nan-enters-statistics: 2 of 16 replays at tf32 would spoil the statistics of a normaliser
    ```

    ## Sources

    - https://github.com/google/brax/blob/main/brax/training/acme/running_statistics.py
    """
    for trial, episodes in told(outcome, lambda episodes: episodes.entering):
        yield Hit(
            location=Location(path=outcome.subject, leaf="observation", step=trial.first_bad_step),
            message=(
                f"{episodes.entering} of {trial.replays} replays at {at(trial)} would spoil the statistics "
                "of a normaliser"
            ),
            evidence={"entering": episodes.entering, "replays": trial.replays},
            fix="end the episode where the observation is not finite, and clip observations",
        )
