"""What the checkpoints of one run tell together."""

import pytest

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.series import Series, falls
from tests.builders import START, checkpoint, counts, series


def test_a_series_lists_its_counters():
    history = counts("step", [10, 20]).histories["step"]

    assert [(saved.step, counter.value) for saved, counter in history] == [(1000, 10), (2000, 20)]


def test_the_rate_forgets_an_interval_that_went_backwards():
    """A restart or a wrap in between leaves the rate as it is."""
    run = counts("step", [1000, 2000, 500, 1500])

    assert run.rate_of("step") == pytest.approx(1000 / 3600)
    assert run.rate == pytest.approx(1000 / 3600)


def test_a_rate_needs_two_saves():
    assert series(checkpoint(step=1000, saved_at=START)).rate is None


def test_saves_of_one_moment_tell_no_rate():
    """Files that were unpacked together have times, and those are not the run's."""
    run = Series(
        path="run",
        checkpoints=tuple(
            Checkpoint(path=f"run/{step}", format="npz", leaves=(), step=step, saved_at=1e9 + step / 1e6)
            for step in (100, 200)
        ),
    )

    assert run.rate is None


def test_a_fall_is_a_wrap_or_a_restart():
    """A restarted count has come as far as a usual step, and one that wrapped may stand anywhere."""

    def grown(*values):
        return [fall.grown for fall in falls(counts("step", values).histories["step"])]

    assert grown(1_900_000_000, 2_100_000_000, -1_994_967_296) == [200_000_000]
    assert grown(1_900_000_000, 2_100_000_000, 200_000_000) == [None]
    assert grown(100, 50) == [None]
    assert grown(1, 2, 3) == []
