"""JD233."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.rules.rule import Hits, rule


@rule("JD233", Severity.WARNING)
def batch_changes_verdict(outcome: Outcome) -> Hits:
    """A policy and its environment fail in a batch of one and not in the batch, or the other way round.

    ## What it saw

    The same start states and keys were replayed in a closed loop in a program of many replays, as
    training runs them, and in a program of one, as inference does. One of the two fails at a precision,
    the other does not.

    ## Why it matters

    A vector times a matrix runs on no matrix unit, a batch of vectors times a matrix does: so the two are
    rounded differently. "Trained well, NaN at inference" has this shape.

    ## What to do

    Set the precision so that both are finite: see the bits that each requires. Judge a policy in the batch in
    which it will run.

    ## Example

    ```text
    JD233 warning batch-changes-verdict: 0 of 16 replays fail one at a time at tf32, and 9 of 16 in the batch
    ```

    ## Sources

    - https://github.com/google/brax/issues/501
    """
    if outcome.loop is None:
        return
    many = {trial.precision: trial for trial in outcome.trials if trial.batch is None}
    for alone in outcome.trials:
        batched = many.get(alone.precision)
        if alone.batch != 1 or batched is None or bool(alone.failed) == bool(batched.failed):
            continue
        # Raised replays fail seldom: among few none may, by chance.
        if alone.interval.low <= batched.interval.high and batched.interval.low <= alone.interval.high:
            continue
        yield Hit(
            location=Location(path=outcome.subject, leaf=alone.first_bad_field or batched.first_bad_field),
            message=(
                f"{alone.failed} of {alone.replays} replays fail one at a time at {alone.precision.name}, "
                f"and {batched.failed} of {batched.replays} in the batch"
            ),
            evidence={
                "alone": alone.failed,
                "batched": batched.failed,
                "only_batched": list(outcome.loop.only_batched),
                "only_alone": list(outcome.loop.only_alone),
            },
            fix="set the precision so that both are finite, and judge a policy in the batch that it runs in",
        )
