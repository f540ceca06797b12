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
