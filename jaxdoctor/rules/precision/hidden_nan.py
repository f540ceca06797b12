"""JD203."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.facts.text import agreed
from jaxdoctor.rules.prescribes import enough_bits
from jaxdoctor.rules.rule import Hits, rule


@rule("JD203", Severity.WARNING, prescribes=enough_bits)
def hidden_nan(outcome: Outcome) -> Hits:
    """A replay hides its NaN: positions and velocities stay finite while other fields do not.

    ## What it saw

    `qacc`, or another field of `mjx.Data`, was NaN or infinite after a step, and `qpos`, `qvel` and `act`
    were finite to the end of the replay.

    ## Why it matters

    With joint damping MJX's Euler integrator solves once more for the acceleration that it integrates, so
    that a NaN in `qacc` need not reach the state. Environments that end an episode on NaN in `qpos` see
    nothing. What reads `qacc`, sensors or contact forces does: rewards and observations turn NaN with a
    state that looks well.

    ## What to do

    Test every floating leaf of `mjx.Data`, and treat the cause as you would a NaN in `qpos`: see the
    other findings about this rollout.

    ## Example

    ```text
    JD203 warning hidden-nan: 16 of 16 replays keep qpos and qvel finite to the end while other fields are
    not: qLD, qacc
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco/blob/main/mjx/mujoco/mjx/_src/forward.py
    """
    trial = outcome.as_delivered
    if trial is None or not trial.hidden:
        return
    fields = ", ".join(trial.bad_fields)
    yield Hit(
        location=Location(path=outcome.subject, leaf=trial.first_bad_field, step=trial.first_bad_step),
        message=(
            f"{trial.hidden} of {trial.replays} replays "
            f"{agreed(trial.hidden, 'keeps', 'keep')} qpos and qvel finite to the end "
            f"while other fields are not: {fields}"
        ),
        evidence={"hidden": trial.hidden, "replays": trial.replays, "fields": list(trial.bad_fields)},
        fix="watch every floating leaf of mjx.Data for NaN, not only qpos and qvel",
    )
