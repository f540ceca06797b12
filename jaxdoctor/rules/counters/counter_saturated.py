"""JD313."""

from __future__ import annotations

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.rules.rule import Hits, rule


@rule("JD313", Severity.ERROR)
def counter_saturated(checkpoint: Checkpoint) -> Hits:
    """A counter stands at the largest number of its type.

    ## What it saw

    A count of exactly 2147483647 in int32, or the largest number of another integer type.

    ## Why it matters

    Optax increments its counts with `safe_increment`, which stays at the maximum. From then on every
    schedule that reads the count gives the same value, and Adam's bias correction no longer moves.

    ## What to do

    Keep such counts in 64 bits, or subtract what a schedule no longer needs before the run goes on.

    ## Example

    ```text
    JD313 error counter-saturated: opt_state/0/count is 2147483647, the largest int32: it counts no more
    ```

    ## Sources

    - https://optax.readthedocs.io/en/latest/api/utilities.html#optax.safe_increment
    """
    for counter in checkpoint.counters:
        if counter.type.integral and counter.limit and counter.value == counter.limit:
            yield Hit(
                location=Location(path=checkpoint.path, leaf=counter.path, step=checkpoint.step),
                message=(
                    f"{counter.path} is {counter.value:,}, the largest {counter.dtype}: it counts no more"
                ),
                evidence={"value": counter.value, "dtype": counter.dtype},
                fix="count in 64 bits",
            )
