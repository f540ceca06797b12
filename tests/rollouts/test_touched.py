"""Which geoms touch others in a recording."""

import mujoco

from jaxdoctor.rollouts.record import record
from jaxdoctor.rollouts.touched import touched_geoms
from tests.mjcf import BALL, mjcf

FAR = '<body pos="0 0 50"><freejoint/><geom name="far" size="0.1"/></body>'


def test_a_ball_that_lands_touches_the_floor_and_one_that_still_falls_does_not():
    model = mujoco.MjModel.from_xml_string(mjcf(BALL.format(z=0.15) + FAR))
    recording = record(model, replays=2, steps=100, seed=0)

    touched = touched_geoms(model, recording, range(2))

    assert touched == {model.geom("floor").id, model.geom("ball").id}
