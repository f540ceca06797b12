"""JD312."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.counter import SavedCounter
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.series import Expectations, Series
from jaxdoctor.rules.rule import Hits, rule

NEAR = 0.9
FOREVER_SECONDS = 1e11
"""Three thousand years: later than any date that is worth writing."""


@rule("JD312", Severity.WARNING)
def counter_near_limit(series: Series) -> Hits:
    """A counter is about to pass the end of its type, or will within the planned steps.

    ## What it saw

    A count of at least 90 % of the largest number of its type, in the newest checkpoint of the run. With
    the rate between the checkpoints, or `--steps-per-second`, it says when the end is reached. With
    `--planned-steps` it is an error when this run gets there, however far away that still is.

    ## Why it matters

    JAX's integers wrap silently and Optax's stop. 2^31 environment steps take 36 minutes at a
    million a second, and six hours at a hundred thousand.

    ## What to do

    Count in 64 bits before the run goes on: `jaxdoctor.remedies` has a counter that works without x64.

    ## Example

    ```text
    JD312 warning counter-near-limit: env_steps is at 94 % of int32; it wraps on 2026-11-21 14:05 UTC
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco_playground/issues/52
    - https://github.com/google/brax/issues/578
    """
    if not series.checkpoints:
        return
    newest = series.checkpoints[-1]
    for counter in newest.counters:
        if counter.limit and counter.type.integral and 0 <= counter.value < counter.limit:
            yield from _judge(series, newest, counter)


def _judge(series: Series, saved: Checkpoint, counter: SavedCounter) -> Iterator[Hit]:
    assert counter.limit is not None
    share = counter.value / counter.limit
    reached = _planned(saved, counter, series.expectations)
    beyond = reached is not None and reached > counter.limit
    if share < NEAR and not beyond:
        return
    end = "saturates" if counter.saturates else "wraps"
    when = _when(series, saved, counter)
    parts = [
        f"{counter.path} is at {share:.1%} of {counter.dtype} ({counter.value:,.0f} of {counter.limit:,})"
    ]
    if beyond:
        parts.append(
            f"; it {end} {_at_step(saved, counter)}of the planned {series.expectations.planned_steps:,}"
        )
    if when is not None:
        parts.append(f"; it {end} on {when:%Y-%m-%d %H:%M} UTC")
    yield Hit(
        location=Location(path=saved.path, leaf=counter.path, step=saved.step),
        message="".join(parts),
        evidence={
            "value": counter.value,
            "limit": counter.limit,
            "dtype": counter.dtype,
            "per_second": _rate(series, counter),
            "breaks_at": None if when is None else when.isoformat(timespec="seconds"),
            "planned": reached,
        },
        fix="count in 64 bits before the run goes on",
        severity=Severity.ERROR if beyond else None,
    )


def _planned(saved: Checkpoint, counter: SavedCounter, expected: Expectations) -> float | None:
    """What the counter will be at the planned number of steps, as far as it follows the steps."""
    if expected.planned_steps is None or counter.value <= 0:
        return None
    if not saved.step or saved.step <= 0:
        return float(expected.planned_steps)
    return counter.value / saved.step * expected.planned_steps


def _at_step(saved: Checkpoint, counter: SavedCounter) -> str:
    """Where it meets its limit, in steps as the names of the checkpoints count them."""
    assert counter.limit is not None
    if not saved.step or saved.step <= 0:
        return f"at {counter.limit:,} "
    return f"at about step {counter.limit / counter.value * saved.step:,.0f} "


def _rate(series: Series, counter: SavedCounter) -> float | None:
    """What the user tells wins over what the saves tell; the saves then tell how often it counts a step."""
    own, given = series.rate_of(counter.path), series.expectations.steps_per_second
    if given is None:
        return own
    return given * own / series.rate if own and series.rate else given


def _when(series: Series, saved: Checkpoint, counter: SavedCounter) -> dt.datetime | None:
    rate = _rate(series, counter)
    if not rate or saved.saved_at is None or counter.limit is None:
        return None
    seconds = (counter.limit - counter.value) / rate
    if seconds > FOREVER_SECONDS:
        return None
    return dt.datetime.fromtimestamp(saved.saved_at + seconds, tz=dt.UTC)
