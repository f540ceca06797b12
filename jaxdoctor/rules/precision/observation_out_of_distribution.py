"""JD235."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.rules.closed_loops import at_float32
from jaxdoctor.rules.rule import Hits, rule

FAR = 100.0
"""Standard deviations that no observation of training reaches by chance."""


@rule("JD235", Severity.WARNING)
def observation_out_of_distribution(outcome: Outcome) -> Hits:
    """The policy sees observations that are far from all that its normaliser knows.

    ## What it saw

    In a closed loop at float32 a finite observation was more than 100 standard deviations from the
    normaliser's mean.

    ## Why it matters

    A network answers such an observation with whatever its weights give: actions saturate, the state runs
    away, and what rounding does to it no longer matters. Such a number comes from another environment or
    other options than in training, from a sensor of another unit, or from a physics that is about to
    break.

    ## What to do

    Replay with the options of training. Clip observations after the normaliser, as many trainers do.

    ## Example

    ```text
    JD235 warning observation-out-of-distribution: an observation is 4e+03 standard deviations from what the
    normaliser knows
    ```

    ## Sources

    - https://github.com/google/brax/blob/main/brax/training/acme/running_statistics.py
    """
    full = at_float32(outcome)
    if full is None or full.farthest is None or full.farthest <= FAR:
        return
    yield Hit(
        location=Location(path=outcome.subject, leaf="observation"),
        message=(f"an observation is {full.farthest:.2g} standard deviations from what the normaliser knows"),
        evidence={"farthest": full.farthest},
        fix="replay with the options of training, and clip observations after the normaliser",
    )
