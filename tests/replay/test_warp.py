"""MuJoCo Warp beside MJX: what can be told without warp-lang."""

import mujoco
import numpy as np

from jaxdoctor.replay.system import Twin
from jaxdoctor.replay.warp import LEAST, ROOM, _room
from tests.mjcf import BALL, arm, mjcf


def compiled(xml):
    return mujoco.MjModel.from_xml_string(xml)


def test_room_is_made_for_several_times_what_c_had():
    piled = compiled(mjcf(BALL.format(z=0.05) + '<geom name="wall" type="box" size="0.04 1 1"/>'))
    crowd = "".join(BALL.format(z=0.05).partition("\n")[2].replace("ball", f"b{n}") for n in range(40))
    many = compiled(mjcf('<geom name="floor" type="plane" size="1 1 1"/>' + crowd))

    assert _room(Twin(model=piled), {"qpos": piled.qpos0[None, None]}) == (LEAST, LEAST)
    contacts, constraints = _room(Twin(model=many), {"qpos": many.qpos0[None, None]})
    data = mujoco.MjData(many)
    mujoco.mj_forward(many, data)
    assert (contacts, constraints) == (ROOM * data.ncon, ROOM * data.nefc)


def test_a_state_that_c_lost_needs_no_room():
    model = compiled(mjcf(arm(1)))

    assert _room(Twin(model=model), {"qpos": np.full((1, 1, 1), np.nan)}) == (LEAST, LEAST)
