"""JD236."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.rules.rule import Hits, rule

LARGE = 100.0
"""The root mean square above which an entry is large,"""

APART = 1000.0
"""and the ratio at which TF32 rounds the small one away: 2^-10."""


@rule("JD236", Severity.NOTE)
def unnormalised_observation(outcome: Outcome) -> Hits:
    """A policy without a normaliser reads observations of very different sizes.

    ## What it saw

    The policy holds no statistics of observations, and the root mean square of one entry of what it reads
    is more than 1000 times that of another, and above 100.

    ## Why it matters

    The first layer's product adds all entries. Rounded to the 10 bits of TF32, the largest one loses more
    than the whole value of the smallest: the policy is blind to it, without any NaN.

    ## What to do

    Normalise observations, or scale the large ones where they are made.

    ## Example

    ```text
    JD236 note unnormalised-observation: the policy has no normaliser, and reads entries from 0.03 to 1.2e+04
    ```

    ## Sources

    - https://github.com/google/brax/blob/main/brax/training/acme/running_statistics.py
    """
    loop = outcome.loop
    if loop is None or loop.normalises or loop.scales is None or not loop.trained:
        return
    least, most = loop.scales
    if most <= LARGE or most <= APART * least:
        return
    yield Hit(
        location=Location(path=outcome.subject, leaf="observation"),
        message=f"the policy has no normaliser, and reads entries from {least:.2g} to {most:.2g}",
        evidence={"least": least, "most": most},
        fix="normalise observations, or scale the large ones where they are made",
    )
