"""Start states and controls."""

import mujoco
import numpy as np
import pytest

from jaxdoctor.errors import UnreadableError, UsageError
from jaxdoctor.rollouts.controls import read_controls
from jaxdoctor.rollouts.record import record

MODEL = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.01"/>
  <worldbody>
    <body pos="0 0 1">
      <freejoint/>
      <geom type="box" size="0.1 0.1 0.1"/>
      <body pos="0.2 0 0">
        <joint name="hinge" type="hinge" axis="0 1 0" limited="true" range="-1 0.5"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/>
        <body pos="0.3 0 0">
          <joint name="ball" type="ball"/>
          <geom type="sphere" size="0.05"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="hinge" ctrllimited="true" ctrlrange="-2 4"/>
    <position joint="hinge" kp="10"/>
    <motor joint="hinge"/>
  </actuator>
  <keyframe><key name="low" qpos="0 0 2 1 0 0 0 0.5 1 0 0 0" ctrl="0 0 0"/></keyframe>
</mujoco>
"""

DIVERGING = """
<mujoco>
  <option timestep="0.1"/>
  <worldbody>
    <body>
      <joint type="slide" stiffness="1e9"/>
      <geom type="sphere" size="0.1" mass="1e-3"/>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope="module")
def model():
    return mujoco.MjModel.from_xml_string(MODEL)


def test_the_first_replay_starts_at_the_keyframe_and_the_others_near_it(model):
    recording = record(model, replays=8, steps=5, seed=1)

    np.testing.assert_array_equal(recording.qpos[0], model.key_qpos[0])
    assert recording.start == "keyframe low"
    distance = np.abs(recording.qpos[1:] - model.key_qpos[0]).max(axis=1)
    assert (distance > 0).all()
    assert (distance < 0.1).all()


def test_perturbed_poses_keep_quaternions_unit_and_joints_within_their_limits(model):
    recording = record(model, replays=64, steps=2, seed=2)

    for quaternion in (recording.qpos[:, 3:7], recording.qpos[:, 8:12]):
        np.testing.assert_allclose(np.linalg.norm(quaternion, axis=1), 1, rtol=4 * np.finfo(float).eps)
    low, high = model.joint("hinge").range
    assert (recording.qpos[:, 7] >= low).all()
    assert (recording.qpos[:, 7] <= high).all()


def test_random_controls_keep_to_their_ranges_and_turn_slowly(model):
    """A step moves a control by no more than half a cosine over a tenth of a second does."""
    recording = record(model, replays=4, steps=200, seed=3)

    low, high = model.actuator_ctrlrange[0]
    limited = recording.ctrl[:, :, 0]
    assert (limited >= low).all()
    assert (limited <= high).all()
    assert np.ptp(limited) > (high - low) / 2
    steepest = (high - low) * np.pi / 2 * model.opt.timestep / 0.1
    assert np.abs(np.diff(limited, axis=1)).max() <= steepest
    # A servo without a control range gets its joint's; a motor without one a modest force.
    assert np.abs(recording.ctrl[:, :, 1]).max() <= 1
    assert np.abs(recording.ctrl[:, :, 2]).max() <= 1


def test_a_seed_decides_everything(model):
    one, same, other = (record(model, replays=3, steps=20, seed=seed) for seed in (5, 5, 6))

    np.testing.assert_array_equal(one.ctrl, same.ctrl)
    np.testing.assert_array_equal(one.qpos, same.qpos)
    assert (one.ctrl != other.ctrl).any()


def test_warnings_are_counted_and_leave_no_log_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = mujoco.MjModel.from_xml_string(DIVERGING)

    recording = record(model, replays=2, steps=50, seed=0)

    assert recording.in_c.nonfinite == 2
    assert sum(recording.in_c.warnings.values()) > 0
    assert not list(tmp_path.iterdir())


def test_a_model_without_actuators_is_replayed_passively():
    model = mujoco.MjModel.from_xml_string(DIVERGING)

    recording = record(model, replays=1, steps=3, seed=0)

    assert recording.ctrl.shape == (1, 3, 0)
    assert "no actuators" in recording.controls


def write(path, **arrays):
    if path.suffix == ".csv":
        np.savetxt(path, arrays["ctrl"], delimiter=",", header="a,b,c", comments="")
    elif path.suffix == ".npy":
        np.save(path, arrays["ctrl"])
    else:
        np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv"])
def test_controls_are_read_from_each_format(tmp_path, model, suffix):
    ctrl = np.linspace(0, 1, 15).reshape(5, 3)

    controls = read_controls(write(tmp_path / f"c{suffix}", ctrl=ctrl), model)
    recording = record(model, replays=2, steps=None, seed=0, controls=controls)

    np.testing.assert_array_equal(recording.ctrl, np.stack([ctrl, ctrl]))


def test_several_sequences_and_start_states_are_taken_in_turn(tmp_path, model):
    qpos = np.stack([model.qpos0, model.key_qpos[0]])
    path = write(tmp_path / "c.npz", ctrl=np.zeros((2, 4, 3)), qpos=qpos, qvel=np.ones((2, model.nv)))

    recording = record(model, replays=3, steps=2, seed=0, controls=read_controls(path, model))

    np.testing.assert_array_equal(recording.qpos, qpos[[0, 1, 0]])
    assert recording.steps == 2
    assert (recording.qvel == 1).all()


@pytest.mark.parametrize(
    ("suffix", "arrays", "message"),
    [
        (".npy", {"ctrl": np.zeros((5, 2))}, "has the shape 5x2"),
        (".npy", {"ctrl": np.zeros(5)}, "has the shape 5"),
        (".npy", {"ctrl": np.zeros((0, 3))}, "has the shape 0x3"),
        (".npy", {"ctrl": np.full((5, 3), np.nan)}, r"ctrl\[0, 0\] in .* is nan; 15 values are not finite"),
        (".npz", {"actions": np.zeros((5, 3))}, "holds no array named ctrl"),
        (".npz", {"ctrl": np.zeros((5, 3)), "qpos": np.zeros(3)}, "qpos in .* has the shape 3"),
        (".npy", {"ctrl": np.zeros((5, 3), complex)}, "dtype complex128"),
    ],
)
def test_controls_that_do_not_fit_are_refused(tmp_path, model, suffix, arrays, message):
    path = write(tmp_path / f"c{suffix}", **arrays)

    with pytest.raises(UsageError, match=message):
        read_controls(path, model)


@pytest.mark.parametrize(
    ("name", "text"),
    [("c.npy", "hello"), ("c.csv", ""), ("c.npz", ""), ("c.npz", "PK\3\4cut"), ("c.csv", "a,b\n1,x\n")],
)
def test_files_that_are_no_controls_are_refused(tmp_path, model, name, text):
    path = tmp_path / name
    path.write_text(text)

    with pytest.raises(UnreadableError, match="cannot be read as controls"):
        read_controls(path, model)


def test_a_file_that_is_not_there_is_misuse(tmp_path, model):
    with pytest.raises(UsageError, match="does not exist"):
        read_controls(tmp_path / "gone.npy", model)


def test_more_steps_than_the_file_has_are_refused(tmp_path, model):
    controls = read_controls(write(tmp_path / "c.npy", ctrl=np.zeros((5, 3))), model)

    with pytest.raises(UsageError, match="has 5 steps of controls and 6 were asked for"):
        record(model, replays=1, steps=6, seed=0, controls=controls)
