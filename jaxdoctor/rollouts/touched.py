"""Which geoms of a model touch others while a recording is simulated."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from jaxdoctor.rollouts.in_c import is_usable, without_reset
from jaxdoctor.rollouts.record import Recording


def touched_geoms(model: Any, recording: Recording, replays: range) -> set[int]:
    """The numbers of geoms that have a contact in any step in C and float64, as long as it is usable.

    Args:
        model: an `mujoco.MjModel`.
        recording: start states and controls.
        replays: those that are simulated.
    """
    found: set[int] = set()
    data = mujoco.MjData(model)
    with without_reset(model):
        for replay in replays:
            mujoco.mj_resetData(model, data)
            data.qpos[:], data.qvel[:] = recording.qpos[replay], recording.qvel[replay]
            data.act[:] = recording.act[replay]
            for control in recording.ctrl[replay]:
                data.ctrl[:] = control
                mujoco.mj_step(model, data)
                found |= set(np.unique(data.contact.geom).tolist())
                if not is_usable(data):
                    break
    return {geom for geom in found if geom >= 0}
