"""JD314."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.counter import SavedCounter
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.series import Series, Sighting
from jaxdoctor.rules.rule import Hits, rule

HALF_BITS = 16
"""A float of so few bits holds no count of a training: bfloat16 stops at 256 increments."""


@rule("JD314", Severity.ERROR)
def counter_stalled(series: Series) -> Hits:
    """A count kept in a float no longer grows.

    ## What it saw

    A float count beyond the last integer that its type holds with all before it (2^24 in float32, 2^11
    in float16, 2^8 in bfloat16) that is the same in two checkpoints of different steps. A single
    checkpoint whose count is exactly a power of two from there on is a warning: that is where counting
    stops. Beyond the limit and still growing is a note.

    ## Why it matters

    `c + d == c` once `d` is below half a unit in the last place of `c`: with increments of `d`, float32
    stops at 2^24 d. A normaliser with such a count gives every new sample the weight of the first ones
    after it; torch's optimizers keep `step` in float32 and stop at 16777216 updates.

    ## What to do

    Count in integers of 64 bits, or in two uint32 as `jaxdoctor.remedies` does; Brax's normaliser does
    since 0.14.0.

    ## Example

    ```text
    JD314 error counter-stalled: 0/count stays at 34,359,738,368 = 2^24 * 2048 while the step goes on
    ```

    ## Sources

    - https://github.com/google/brax/commit/ca7649c
    - https://github.com/google/brax/issues/578
    """
    for sightings in series.histories.values():
        beyond = tuple(sighting for sighting in sightings if _is_beyond(sighting.counter))
        if beyond:
            yield from _first(_stopped(beyond), _suspect(beyond), _growing(beyond))


def _is_beyond(counter: SavedCounter) -> bool:
    return counter.type.kind == "float" and counter.limit is not None and counter.value >= counter.limit


def _first(*looks: Iterator[Hit]) -> Iterator[Hit]:
    yield from itertools.islice(itertools.chain(*looks), 1)


def _stopped(beyond: tuple[Sighting, ...]) -> Iterator[Hit]:
    for (earlier, before), (later, after) in itertools.pairwise(beyond):
        if before.value == after.value and _moved_on(earlier, later):
            yield _hit(later, after, f"{after.path} stays at {_spelled(after)} while the step goes on")


def _moved_on(earlier: Checkpoint, later: Checkpoint) -> bool:
    return earlier.step is not None and later.step is not None and later.step > earlier.step


def _suspect(beyond: tuple[Sighting, ...]) -> Iterator[Hit]:
    saved, counter = beyond[-1]
    value = int(counter.value)
    at_the_end = value & (value - 1) == 0
    if counter.type.bits <= HALF_BITS:
        message = (
            f"{counter.path} is {_spelled(counter)} in {counter.dtype}, where {value} + 1 is {value} again"
        )
        yield _hit(saved, counter, message, None if at_the_end else Severity.WARNING)
    elif len(beyond) == 1 and at_the_end:
        message = f"{counter.path} is exactly {_spelled(counter)}, where {counter.dtype} stops counting"
        yield _hit(saved, counter, message, Severity.WARNING)


def _growing(beyond: tuple[Sighting, ...]) -> Iterator[Hit]:
    saved, counter = beyond[-1]
    message = (
        f"{counter.path} is {counter.value:,.0f}, beyond {counter.limit:,}, "
        f"up to which {counter.dtype} holds every integer"
    )
    yield _hit(saved, counter, message, Severity.NOTE)


def _spelled(counter: SavedCounter) -> str:
    assert counter.limit is not None
    times, rest = divmod(int(counter.value), counter.limit)
    power = f"2^{counter.limit.bit_length() - 1}"
    if rest:
        return f"{counter.value:,.0f}"
    return f"{counter.value:,.0f} = {power}" + (f" * {times}" if times > 1 else "")


def _hit(saved: Checkpoint, counter: SavedCounter, message: str, severity: Severity | None = None) -> Hit:
    return Hit(
        location=Location(path=saved.path, leaf=counter.path, step=saved.step),
        message=message,
        evidence={"value": counter.value, "dtype": counter.dtype, "exact_to": counter.limit},
        fix="count in 64-bit integers",
        severity=severity,
    )
