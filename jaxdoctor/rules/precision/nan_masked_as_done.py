"""JD230."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.rules.closed_loops import at, told
from jaxdoctor.rules.rule import Hits, rule


@rule("JD230", Severity.WARNING)
def nan_masked_as_done(outcome: Outcome) -> Hits:
    """NaN ends an episode, so that an auto-reset hides it.

    ## What it saw

    In a closed loop without auto-reset a replay's `done` became true at the very step at which a number
    of its state was not finite any more.

    ## Why it matters

    Playground's environments put `isnan(qpos)` into `done`, and the training wrapper puts a fresh state
    in the place of the broken one: training goes on, its metrics stay finite, and the NaN is first seen
    at inference, where nothing resets.

    ## What to do

    Mend what the other findings name. Count such ends in training: a share that rises is a run that breaks.

    ## Example

    ```text
    JD230 warning nan-masked-as-done: 3 of 16 episodes end at tf32 because of NaN, first in the physics
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco_playground/blob/main/mujoco_playground/_src/wrapper.py
    - https://github.com/google/brax/issues/501
    """
    for trial, episodes in told(outcome, lambda episodes: episodes.masked):
        yield Hit(
            location=Location(path=outcome.subject, leaf=trial.first_bad_field, step=trial.first_bad_step),
            message=(
                f"{episodes.masked} of {trial.replays} episodes end at {at(trial)} because of NaN, first in "
                f"the {episodes.part}"
            ),
            evidence={"masked": episodes.masked, "replays": trial.replays},
            fix="mend what breaks; in training, count the ends at which the state is not finite",
        )
