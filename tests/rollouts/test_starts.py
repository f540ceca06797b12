"""Where replays start."""

import mujoco
import numpy as np

from jaxdoctor.rollouts.record import record
from tests.mjcf import arm, mjcf


def test_disturbed_start_states_keep_the_limits():
    """A joint that stands on its limit is not pushed through it."""
    model = mujoco.MjModel.from_xml_string(mjcf(arm(1, joint='range="0 1" limited="true"')))

    recording = record(model, replays=32, steps=1, seed=0)

    assert recording.qpos[0] == 0
    assert np.all(recording.qpos[1:] > 0)


BRAX = '<custom><numeric name="init_qpos" data="{}"/></custom>'


def start(after):
    return record(mujoco.MjModel.from_xml_string(mjcf(arm(2), after=after)), replays=1, steps=1, seed=0)


def test_replays_start_where_brax_does():
    recording = start(BRAX.format("0.3 -0.2"))

    assert recording.start == "init_qpos"
    np.testing.assert_array_equal(recording.qpos, [[0.3, -0.2]])


def test_a_keyframe_comes_first_and_an_init_qpos_that_does_not_fit_is_left_alone():
    key = '<keyframe><key name="home" qpos="1 1"/></keyframe>'

    assert start(BRAX.format("0.3 -0.2") + key).start == "keyframe home"
    assert start(BRAX.format("0.3 -0.2 1")).start == "qpos0"


def test_a_keyframe_that_is_only_set_aside_is_none():
    """`<size nkey>` alone fills keyframes with qpos0."""
    assert start('<size nkey="2"/>').start == "qpos0"
    assert start('<size nkey="2"/>' + BRAX.format("0.3 -0.2")).start == "init_qpos"
