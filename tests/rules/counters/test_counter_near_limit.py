"""Counters about to pass the end of their type."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.counters.counter_near_limit import counter_near_limit
from tests.builders import checkpoint, counts, judged, leaf, series


def test_ninety_percent_are_told_with_the_date():
    """A thousand million steps between two saves an hour apart: the end is half an hour away."""
    run = counts("env_steps", [1_000_000_000, 2_000_000_000])

    (finding,) = judged(counter_near_limit, run)

    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "env_steps is at 93.1% of int32 (2,000,000,000 of 2,147,483,647); it wraps on 2023-11-15 00:22 UTC"
    )
    assert finding.evidence["breaks_at"] == "2023-11-15T00:22:10+00:00"


def test_the_speed_may_be_told():
    saved = checkpoint(leaf("step", "int32", role="counter", value=2_147_483_000), saved_at=0.0)

    (finding,) = judged(counter_near_limit, series(saved, steps_per_second=1.0))

    assert finding.evidence["breaks_at"] == "1970-01-01T00:10:47+00:00"


def test_without_a_speed_there_is_no_date():
    (finding,) = judged(counter_near_limit, counts("step", [2_147_483_000]))

    assert finding.evidence["breaks_at"] is None


def test_planned_steps_beyond_the_end_are_an_error_early():
    saved = checkpoint(leaf("env_steps", "int32", role="counter", value=1_000_000), step=1_000_000)

    (finding,) = judged(counter_near_limit, series(saved, planned_steps=10_000_000_000))

    assert finding.severity is Severity.ERROR
    assert "it wraps at about step 2,147,483,647 of the planned 10,000,000,000" in finding.message


def test_optax_counts_saturate():
    (finding,) = judged(counter_near_limit, counts("opt_state/0/count", [2_147_000_000, 2_147_000_500]))

    assert "it saturates on" in finding.message


@pytest.mark.parametrize(
    ("value", "dtype", "planned"),
    [(1_000_000, "int32", None), (1_000_000, "int32", 2_000_000_000), (4_000_000_000, "int64", None)],
)
def test_counters_with_room_are_healthy(value, dtype, planned):
    saved = checkpoint(leaf("step", dtype, role="counter", value=value), step=value)

    assert not judged(counter_near_limit, series(saved, planned_steps=planned))


def test_a_split_counter_has_room_for_all_planned_steps():
    halves = [
        leaf("env_steps/hi", "uint32", role="counter", value=0),
        leaf("env_steps/lo", "uint32", role="counter", value=10),
    ]

    assert not judged(counter_near_limit, series(checkpoint(*halves, step=10), planned_steps=10**12))


def test_the_speed_that_is_told_wins_over_that_of_the_saves():
    """Twice as fast as between the saves: the end is reached in half the time, from the last save on."""
    run = counts("env_steps", [1_000_000_000, 2_000_000_000])

    (own,) = judged(counter_near_limit, run)
    (stated,) = judged(counter_near_limit, series(*run.checkpoints, steps_per_second=2 * run.rate))

    assert stated.evidence["per_second"] == 2 * own.evidence["per_second"]
