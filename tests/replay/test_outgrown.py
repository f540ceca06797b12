"""Replays of MJX that run away, as those of MuJoCo in C do."""

import numpy as np

from jaxdoctor.replay.ensemble import Rollout
from jaxdoctor.replay.outgrown import outgrown

STEPS, LEAVES = 200, ("qacc", "qpos", "qvel")


def rollout(*speeds, bad=()):
    """One replay for each row of speeds."""
    replays = len(speeds)
    marked = np.zeros((STEPS, replays, len(LEAVES)), bool)
    for replay, leaf in bad:
        marked[50:, replay, LEAVES.index(leaf)] = True
    qvel = np.zeros((STEPS + 1, replays, 2))
    qvel[1:, :, 1] = np.array(speeds).T
    states = {"qpos": np.zeros((STEPS + 1, replays, 3)), "qvel": qvel}
    return Rollout(bad=marked, leaves=LEAVES, states=states, state=("qpos", "qvel"))


STEADY, FALLING = np.ones(STEPS), np.arange(1.0, STEPS + 1)


def test_what_moves_or_falls_has_bounds():
    assert outgrown([rollout(STEADY, FALLING)], replays=2) == 0


def test_speed_that_grows_by_a_factor_and_speed_beyond_the_limit_have_none():
    growing, gone = 1.1 ** np.arange(STEPS), np.where(np.arange(STEPS) == 90, 2e10, 1.0)

    assert outgrown([rollout(STEADY, growing, gone)], replays=3) == 2


def test_a_state_that_is_not_finite_counts_and_a_field_that_is_none_of_it_does_not():
    assert outgrown([rollout(STEADY, STEADY, bad=[(0, "qpos"), (1, "qacc")])], replays=2) == 1


def test_only_the_replays_that_were_asked_for_count():
    growing = 1.1 ** np.arange(STEPS)

    assert outgrown([rollout(STEADY, growing), rollout(STEADY, growing)], replays=3) == 1
