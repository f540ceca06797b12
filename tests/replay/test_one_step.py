"""The step in which MJX failed, taken by MuJoCo in C from the same state."""

import mujoco
import numpy as np
import pytest

from jaxdoctor.replay.ensemble import Rollout
from jaxdoctor.replay.one_step import steps_in_c
from jaxdoctor.replay.system import Twin
from jaxdoctor.rollouts.record import record
from tests.mjcf import BALL, arm, mjcf

STEPS, BATCH = 4, 3
EXPLODING = mjcf(arm(2, joint='damping="-1e9"'), options='<option><flag eulerdamp="disable"/></option>')


def compiled(xml):
    return mujoco.MjModel.from_xml_string(xml)


def rollouts(model, failures, *, parts=1, **state):
    """What MJX did: `failures` says which replay was bad after which step; all states are the start."""
    recording = record(model, replays=BATCH * parts, steps=STEPS, seed=0)
    leaves = ("qacc", "qpos")
    made = []
    for part in range(parts):
        bad = np.zeros((STEPS, BATCH, len(leaves)), bool)
        for replay, step in failures.items():
            if replay // BATCH == part:
                bad[step:, replay % BATCH, 0] = True
        rows = slice(part * BATCH, (part + 1) * BATCH)
        states = {
            name: np.repeat(getattr(recording, name)[None, rows], STEPS + 1, axis=0)
            for name in ("qpos", "qvel", "act")
        }
        states |= {
            name: np.full((STEPS + 1, BATCH, *np.shape(value)), value) for name, value in state.items()
        }
        made.append(Rollout(bad=bad, leaves=leaves, states=states))
    return recording, made


def taken(xml, failures, *, replays=BATCH, parts=1, twin=None, aside=(), **state):
    model = compiled(xml)
    recording, made = rollouts(model, failures, parts=parts, **state)
    return steps_in_c(twin or Twin(model=model), recording, made, replays=replays, aside=aside)


def test_c_takes_the_step_of_a_healthy_model():
    (step,) = taken(mjcf(BALL.format(z=0.1)), {1: 2})

    assert (step.step, step.replay, step.holds, step.warnings) == (2, 1, True, ())


def test_c_fails_where_the_physics_do():
    (step,) = taken(EXPLODING, {0: 0}, qvel=[1e9, 1e9])

    assert not step.holds
    assert "BADQACC" in step.warnings


def test_a_state_beyond_mujocos_limit_is_the_models():
    """MJX carries such a state on, and C counts a warning."""
    (step,) = taken(mjcf(arm(1)), {0: 1}, qvel=[1e12])

    assert not step.holds
    assert "BADQVEL" in step.warnings


def test_failures_come_earliest_first_from_every_part_and_only_those_that_are_judged():
    found = taken(mjcf(arm(1)), {0: 3, 2: 1, 4: 0, 5: 2}, replays=5, parts=2)

    assert [(one.step, one.replay) for one in found] == [(0, 4), (1, 2), (3, 0)]


def test_fields_that_are_never_finite_are_no_failure():
    assert taken(mjcf(arm(1)), {0: 0}, aside=("qacc",)) == ()


@pytest.mark.parametrize("substeps", [1, 5])
def test_a_step_of_several_substeps_is_taken_whole(substeps):
    """Free fall from rest reaches MuJoCo's limit only after so many substeps."""
    falling = '<body><freejoint/><geom size="0.1"/></body>'
    xml = mjcf(falling, options='<option timestep="1" gravity="0 0 -3e9"/>')
    model = compiled(xml)

    (step,) = taken(xml, {0: 0}, twin=Twin(model=model, substeps=substeps))

    assert step.holds == (substeps == 1)


def test_the_models_own_flags_are_left_as_they_were():
    model = compiled(mjcf(arm(1)))
    flags = model.opt.disableflags

    taken(mjcf(arm(1)), {0: 0}, twin=Twin(model=model))

    assert model.opt.disableflags == flags


def test_a_simulation_may_call_its_leaves_otherwise():
    leaves = {"qpos": "pipeline_state.q", "qvel": "pipeline_state.qd"}
    twin = Twin(model=compiled(mjcf(arm(1))), leaves=leaves)

    (step,) = taken(mjcf(arm(1)), {0: 1}, twin=twin, **{"pipeline_state.qd": [1e12]})

    assert "BADQVEL" in step.warnings
