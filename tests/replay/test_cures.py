"""Changes to a failing model, tried from the states in which it fails."""

import contextlib
import io
import time

import mujoco
import numpy as np
import pytest

from jaxdoctor.facts.cure import Cure
from jaxdoctor.models.changes import changed, changes
from jaxdoctor.replay.cures import _alike, _Trying, try_in_c
from jaxdoctor.replay.ensemble import Rollout
from jaxdoctor.replay.plan import CurePlan, RecordPlan
from jaxdoctor.replay.scratch import Scratch
from jaxdoctor.replay.system import system_of
from jaxdoctor.replay.systems.mjx import simulation
from jaxdoctor.rollouts.record import record
from jaxdoctor.workers.progress import SILENT
from tests.mjcf import BALL, arm, mjcf

STIFF = """<actuator><position joint="hinge0" kp="300" ctrlrange="-1 1"/></actuator>"""
TOO_STIFF = mjcf(arm(1), options='<option timestep="0.01" gravity="0 0 0"/>', after=STIFF)


def recorded(tmp_path, text, *, steps=400):
    path = tmp_path / "model.xml"
    path.write_text(text)
    plan = RecordPlan(model=str(path), controls=None, replays=4, steps=steps, seed=0)
    recording, _ = system_of(plan.model).record(plan, tmp_path, SILENT)
    scratch = Scratch(str(tmp_path))
    scratch.keep_plan(plan)
    scratch.keep_recording(recording)
    return recording


def plan(**fields):
    return CurePlan(**{"batch": 4, "where": "MJX", "deadline": time.monotonic() + 60} | fields)


def test_what_c_does_not_hold_is_mended_in_c(tmp_path):
    """A servo too stiff for its timestep: damping does not help it, a shorter timestep or armature does."""
    recording = recorded(tmp_path, TOO_STIFF)

    found = {cure.change: cure for cure in try_in_c(str(tmp_path), plan(), progress=SILENT)}

    assert recording.in_c.unusable == 4
    halved = found['timestep="0.005"']
    assert halved == Cure(
        change='timestep="0.005"', failed=halved.failed, replays=4, instead_of=4, where="MuJoCo in C"
    )
    assert any(cure.mends for cure in found.values())
    assert any(cure.failed == 4 for cure in found.values())
    assert [cure.change for cure in found.values()] == [
        change.name for change in changes(mujoco.MjModel.from_xml_string(TOO_STIFF))
    ]


def test_without_time_every_change_is_named_as_not_tried(tmp_path):
    recorded(tmp_path, TOO_STIFF, steps=5)

    found = try_in_c(str(tmp_path), plan(deadline=time.monotonic() - 1), progress=SILENT)

    assert found
    assert all(cure.failed is None for cure in found)


@pytest.mark.parametrize(
    ("name", "alike"),
    [("timestep", True), ("armature", True), ("solref", True), ("cone", False), ("solver", False)],
)
def test_numbers_share_a_program_and_structure_needs_its_own(name, alike):
    with contextlib.redirect_stdout(io.StringIO()):
        model = mujoco.MjModel.from_xml_string(mjcf(BALL.format(z=1) + arm(2)))
        (change,) = (one for one in changes(model) if one.name.startswith(name))
        one, other = (simulation(each).parameters for each in (model, changed(model, change)))

    assert _alike(one, other) == alike


def windowed(near):
    """Two replays of four fail, after 40 and 3 of 60 steps; the state says where it is from."""
    model = mujoco.MjModel.from_xml_string(mjcf(arm(1)))
    recording = record(model, replays=4, steps=60, seed=0)
    bad = np.zeros((60, 4, 1), bool)
    bad[40:, 1], bad[3:, 2] = True, True
    steps = np.arange(61.0)[:, None, None] + 100 * np.arange(4)[:, None]
    trying = object.__new__(_Trying)
    trying.recording, trying.aside, trying.plan = recording, (), plan(near=near)
    rollout = Rollout(
        bad=bad, leaves=("qacc",), states={"qpos": steps, "qvel": steps.copy()}, state=("qpos", "qvel")
    )
    return recording, trying._window(rollout)


def test_the_engines_faults_are_tried_from_shortly_before_each_fails():
    """The rows of healthy replays look at the surroundings of those that fail."""
    _, window = windowed(near=True)

    assert window.starts["qpos"].ravel().tolist() == [135, 135, 200, 200]
    assert window.starts["qvel"].ravel()[1:3].tolist() == [135, 200]
    assert 0 < abs(window.starts["qvel"][0, 0] - 135) < 0.05 * 135
    assert window.steps == 30


def test_the_models_faults_are_tried_from_the_start():
    recording, window = windowed(near=False)

    np.testing.assert_array_equal(window.starts["qpos"], recording.qpos)
    np.testing.assert_array_equal(window.ctrl, recording.ctrl)
