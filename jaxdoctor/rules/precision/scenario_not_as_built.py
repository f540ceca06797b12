"""JD209."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.rules.rule import Hits, rule


@rule("JD209", Severity.ERROR)
def scenario_not_as_built(outcome: Outcome) -> Hits:
    """A packaged scenario does not behave on this machine as it was built to.

    ## What it saw

    The scenarios that ship with jaxdoctor have known verdicts. One of them came out otherwise.

    ## Why it matters

    Either this combination of versions computes differently, or the probe measures wrongly here. In both
    cases verdicts about your own models deserve doubt.

    ## What to do

    Report it together with `jaxdoctor probe --scenario NAME --format json`.

    ## Example

    ```text
    JD209 error scenario-not-as-built: the packaged scenario was built to be healthy and came out as precision
    ```

    ## Sources

    - https://github.com/jaxdoctor/jaxdoctor/issues
    """
    if outcome.expected is None or outcome.verdict in (outcome.expected, Verdict.UNKNOWN):
        return
    yield Hit(
        location=Location(path=outcome.subject),
        message=f"the packaged scenario was built to be {outcome.expected} and came out as {outcome.verdict}",
        evidence={"expected": outcome.expected.value, "verdict": outcome.verdict.value},
        fix="report it with the output of --format json; trust no verdict here until then",
    )
