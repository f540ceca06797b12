"""JD507."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Severity
from jaxdoctor.facts.signature import Fate, Signature, UpdateCounter
from jaxdoctor.rules.rule import Hits, rule

COUNT = "count in jaxdoctor.remedies.StepCounter and divide by its as_float32()"
HELD_BACK = "let nothing that reads it wait for more"


@rule("JD507", Severity.ERROR)
def counter_will_stall(signature: Signature) -> Hits:
    """A counter in the state will stop growing: a float that rounds the increment away, or a held-back count.

    ## What it saw

    In the traced program one call adds a fixed amount to the counter. A float32 stands still at 2^24 times
    the increment, since the sum is then rounded back to where it was; a bfloat16 does at 2^8 times. An
    integer count as optax keeps it is held back at the largest value of its dtype. Severities are those of
    counter-will-wrap; a count that is held back is a warning at most, and none where nothing but a decay's
    power, as Adam's bias correction, reads it. A limit that the author wrote is listed and no finding.

    ## Why it matters

    Whatever divides by the count, such as the running mean of an observation normalizer, keeps weighing new
    values as if no time had passed. Whatever waits for the count, such as a schedule or the end of a loop,
    waits for ever.

    ## What to do

    Count in integers: `jaxdoctor.remedies.StepCounter` holds 64 bits without x64, and its `as_float32()`
    gives the number for a division with its rounding error stated.

    ## Example

    ```text
    JD507 warning counter-will-stall: count (float32) grows by 2,048 a call and stands still at
    34,359,738,368, call 16,777,216
    ```

    ## Sources

    - https://github.com/google/brax/commit/ca7649c
    - https://optax.readthedocs.io/en/latest/api/utilities.html#optax.safe_increment
    """
    for counter in signature.counters:
        if counter.fate not in {Fate.STALLS, Fate.SATURATES} or counter.calls is None:
            continue
        if counter.fate is Fate.SATURATES and not counter.read:
            continue
        severity = counter.urgency(signature.calls_per_second)
        if severity is not None:
            held_back = counter.fate is Fate.SATURATES
            yield _hit(signature, counter, min(severity, Severity.WARNING) if held_back else severity)


def _hit(signature: Signature, counter: UpdateCounter, severity: Severity) -> Hit:
    assert counter.calls is not None
    rounded = counter.inexact_after is not None and counter.inexact_after < counter.calls
    inexact = f", is rounded from call {(counter.inexact_after or 0) + 1:,} on" if rounded else ""
    return Hit(
        location=signature.location(counter.leaf, counter.site),
        message=(
            f"{counter.leaf} ({counter.dtype}) {counter.growth} a call{inexact} and stands "
            f"still at {counter.limit:,}, call {counter.calls:,}{counter.when(signature.calls_per_second)}"
            f"{signature.context}"
        ),
        evidence={
            "dtype": counter.dtype,
            "fate": counter.fate.value,
            "increment": counter.increment,
            "start": counter.start,
            "limit": counter.limit,
            "calls": counter.calls,
            "inexact_after": counter.inexact_after,
            "seconds": counter.seconds(signature.calls_per_second),
            "setting": signature.setting,
        },
        fix=HELD_BACK if counter.fate is Fate.SATURATES else COUNT,
        severity=severity,
    )
