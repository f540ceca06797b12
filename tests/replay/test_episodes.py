"""Rewards, ends and observations of closed loops, from arrays written by hand."""

import numpy as np
import pytest

from jaxdoctor.facts.closed_loop import Part
from jaxdoctor.replay.ensemble import Rollout
from jaxdoctor.replay.episodes import episodes_of, mean_of, part_of, returns_of, scales_of
from jaxdoctor.replay.system import Driven
from tests.loops import loop

STEPS, LEAVES = 4, ("normalised", "state.q", "next_observation")


def driven(**statistics):
    return Driven(
        loop=loop(),
        advance=lambda state, _: state,
        restart=lambda _, state: state,
        reads=("next_observation",),
        **statistics,
    )


def rollout(*, bad=(), done=(), seen=None):
    """Two replays of four steps with a reward of 1; `bad` are (step, replay, leaf), `done` (step, replay)."""
    ill = np.zeros((STEPS, 2, len(LEAVES)), bool)
    ended = np.zeros((STEPS + 1, 2), bool)
    observation = np.ones((STEPS + 1, 2, 3)) if seen is None else seen
    for step, replay, leaf in bad:
        ill[step:, replay, LEAVES.index(leaf)] = True
        observation[step + 1 :, replay] = np.nan
    for step, replay in done:
        ended[step + 1, replay] = True
    states = {"next_observation": observation, "reward": np.ones((STEPS + 1, 2)), "done": ended}
    return Rollout(bad=ill, leaves=LEAVES, states=states)


def test_an_episode_earns_until_its_end():
    healthy = rollout(done=[(1, 0)])

    assert returns_of([healthy], driven()).tolist() == [2, 4]
    told = episodes_of([healthy], driven(), replays=2)
    assert (told.ended, told.masked, told.surviving, told.entering, told.part) == (1, 0, 0, 0, None)
    assert told.longest == STEPS
    both = episodes_of([rollout(done=[(1, 0), (2, 1)])], driven(), replays=2)
    assert (both.ended, both.longest) == (2, 3)


def test_nan_at_the_end_is_masked_and_nan_without_one_survives():
    ill = rollout(bad=[(2, 0, "state.q"), (1, 1, "normalised")], done=[(2, 0)])
    told = episodes_of([ill], driven(), replays=2)

    assert (told.ended, told.masked, told.surviving, told.entering) == (1, 1, 1, 1)
    assert told.part is Part.NORMALISER, "the earliest step tells"
    assert told.magnitude == 1
    assert told.returns is None, "no replay stayed finite to its end"


def test_what_comes_after_the_end_of_an_episode_is_of_no_account():
    told = episodes_of([rollout(bad=[(3, 0, "state.q")], done=[(1, 0)])], driven(), replays=2)

    assert (told.masked, told.surviving) == (0, 0)
    assert told.returns.value == 3


def test_an_end_that_a_stand_in_reaches_is_not_the_failed_replays():
    ill = rollout(bad=[(0, 0, "state.q")], done=[(2, 0)])

    assert episodes_of([ill], driven(), replays=2).ended == 0


def test_fields_that_are_never_finite_are_left_aside():
    told = episodes_of([rollout(bad=[(0, 0, "state.q")])], driven(), replays=2, aside=["state.q"])

    assert told.surviving == 0


def test_distance_from_the_normaliser():
    seen = np.ones((STEPS + 1, 2, 3))
    seen[2, 1, 2] = 21
    far = driven(mean=np.ones(3), std=np.full(3, 2.0))

    assert episodes_of([rollout(seen=seen)], far, replays=2).farthest == 10
    seen[2, 1, 2] = 3e6
    assert episodes_of([rollout(seen=seen)], far, replays=2).entering == 1
    assert scales_of([rollout(seen=seen)], far)[0] == 1


def test_returns_beside_those_of_float32():
    full = np.array([5.0, 6.0])
    told = episodes_of([rollout()], driven(), replays=2, full=full)

    assert told.change.value == -1.5
    assert told.change.low < -1.5 < told.change.high


def test_the_interval_is_students():
    # 97.5 % quantiles: 4.303 for two degrees of freedom, 2.131 for 15.
    assert mean_of(np.array([1.0, 2.0, 3.0])).high == pytest.approx(2 + 4.303 / 3**0.5, rel=2e-2)
    sixteen = np.arange(16.0)
    reach = 2.131 * sixteen.std(ddof=1) / 4
    assert mean_of(sixteen).low == pytest.approx(7.5 - reach, rel=1e-3)
    assert mean_of(np.array([1.0, np.nan])) is None


@pytest.mark.parametrize(
    ("field", "part"),
    [
        ("observation", Part.OBSERVATION),
        ("next_observation.state", Part.OBSERVATION),
        ("output", Part.OUTPUT),
        ("action", Part.ACTION),
        ("state.pipeline_state.qacc", Part.PHYSICS),
        ("reward", Part.REWARD),
    ],
)
def test_the_part_that_computes_a_leaf(field, part):
    assert part_of(field) is part
