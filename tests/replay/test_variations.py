"""A closed loop with auto-reset, and open."""

import numpy as np
import pytest

from jaxdoctor.replay.ensemble import Ensemble
from jaxdoctor.replay.plan import Lane
from jaxdoctor.replay.system import system_of
from jaxdoctor.replay.variations import auto_reset_of, opened, resetting, with_actions, with_first
from jaxdoctor.workers.progress import SILENT
from tests.steppable import plan_of

REPLAYS, STEPS = 2, 14


@pytest.fixture
def recorded(tmp_path):
    def record(name):
        plan = plan_of(tmp_path, name, replays=REPLAYS, steps=STEPS)
        system = system_of(plan.model)
        recording, _ = system.record(plan, tmp_path, SILENT)
        return system.load(plan, tmp_path), recording

    return record


def rolled(simulation, recording):
    return Ensemble(simulation, batch=REPLAYS, chunk=STEPS).roll_out(recording, [Lane()])[0]


def test_nan_that_ends_an_episode_is_masked_again_and_again(recorded):
    """Its counter of steps is not put back by the wrappers, so that it breaks in every later step."""
    simulation, recording = recorded("Masked")
    told = auto_reset_of(rolled(resetting(simulation), with_first(recording)))

    assert (told.rows, told.steps) == (REPLAYS, STEPS)
    assert (told.masked, told.left) == (REPLAYS * (STEPS - 5), 0)


def test_nan_that_ends_nothing_is_left(recorded):
    simulation, recording = recorded("Blind")
    told = auto_reset_of(rolled(resetting(simulation), with_first(recording)))

    assert (told.masked, told.left) == (0, REPLAYS)


def test_an_open_loop_takes_the_same_path(recorded):
    simulation, recording = recorded("point")
    closed = rolled(simulation, recording)
    alone = opened(simulation)
    again = rolled(alone, with_actions(recording, closed))

    assert alone.controls == 1
    assert np.allclose(closed.states["next_observation"], again.states["next_observation"], atol=1e-6)
