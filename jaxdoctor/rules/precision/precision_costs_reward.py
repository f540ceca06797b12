"""JD237."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.facts.precision import F32
from jaxdoctor.rules.closed_loops import at
from jaxdoctor.rules.rule import Hits, rule

SHARE = 0.05
"""Less of the return than this is not worth a finding."""


@rule("JD237", Severity.WARNING)
def precision_costs_reward(outcome: Outcome) -> Hits:
    """A precision costs a policy reward, without any NaN.

    ## What it saw

    From the same start states and keys the replays at a precision earned less than those at float32: the 95 %
    interval of the difference lies below zero, and the difference is more than 5 % of the return.

    ## Why it matters

    Nothing fails, so nothing is noticed. A policy that was trained at one precision and is judged at
    another can lose much of its reward, as with two releases of jaxlib.

    ## What to do

    Set the precision at which the return is that of float32.

    ## Example

    ```text
    JD237 warning precision-costs-reward: the return at tf32 is 41.2 less than 97.3 at float32 (-60.1 to
    -22.4)
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco_playground/issues/112
    """
    if outcome.loop is None or not outcome.loop.trained:
        return
    full = {
        trial.batch: trial.episodes for trial in outcome.trials if trial.precision == F32 and trial.episodes
    }
    for trial in outcome.trials:
        episodes, there = trial.episodes, full.get(trial.batch)
        if episodes is None or episodes.change is None or there is None or there.returns is None:
            continue
        if trial.precision.name.isdecimal() or episodes.change.high >= 0:
            continue
        if -episodes.change.value <= SHARE * abs(there.returns.value):
            continue
        change = episodes.change
        yield Hit(
            location=Location(path=outcome.subject, leaf="reward"),
            message=(
                f"the return at {at(trial)} is {-change.value:.3g} less than {there.returns.value:.3g} at "
                f"float32 ({change.low:.3g} to {change.high:.3g})"
            ),
            evidence={"change": change.value, "float32": there.returns.value},
            fix="set the precision at which the return is that of float32",
        )
