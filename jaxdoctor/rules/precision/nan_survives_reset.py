"""JD231."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.rules.closed_loops import at, told
from jaxdoctor.rules.rule import Hits, rule


@rule("JD231", Severity.WARNING)
def nan_survives_reset(outcome: Outcome) -> Hits:
    """A replay that is not finite is not done, so that no auto-reset mends it.

    ## What it saw

    In a closed loop without auto-reset a number of a replay's state was not finite, and its `done` stayed
    false.

    ## Why it matters

    A comparison with NaN is false: `height < 0.2` does not end an episode whose height is NaN. No
    environment of Brax tests for NaN, so such a row stays in the batch until its time is out, and its
    rewards and observations are NaN in the update.

    ## What to do

    Mend what breaks, and end the episode: `done = done | ~jnp.isfinite(obs).all()`.

    ## Example

    ```text
    JD231 warning nan-survives-reset: 2 of 16 replays at tf32 are not finite and not done, from step 12 on
    ```

    ## Sources

    - https://github.com/google/brax/blob/main/brax/envs/wrappers/training.py
    - https://github.com/google/brax/issues/501
    """
    for trial, episodes in told(outcome, lambda episodes: episodes.surviving):
        yield Hit(
            location=Location(path=outcome.subject, leaf=trial.first_bad_field, step=trial.first_bad_step),
            message=(
                f"{episodes.surviving} of {trial.replays} replays at {at(trial)} are not finite and not "
                f"done, from step {trial.first_bad_step} on"
            ),
            evidence={"surviving": episodes.surviving, "replays": trial.replays},
            fix="end such an episode: done = done | ~jnp.isfinite(obs).all()",
        )
