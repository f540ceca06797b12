"""MuJoCo's own rollout in float64: what it warns of, what grows, and how hard its solver works."""

import mujoco
import numpy as np
import pytest

from jaxdoctor.rollouts.in_c import grows
from jaxdoctor.rollouts.record import record
from tests.mjcf import BALL, arm, mjcf

PUSHED_FORWARD = """<actuator>
  <general joint="hinge0" biastype="affine" biasprm="0 0 {feedback}" ctrlrange="-1 1"/>
</actuator>"""
FLOATING = '<option timestep="0.002" gravity="0 0 0"/>'


def rolled(xml, steps=100):
    return record(mujoco.MjModel.from_xml_string(xml), replays=8, steps=steps, seed=0).in_c


def test_speed_that_feeds_itself_grows():
    ill = rolled(mjcf(arm(1), options=FLOATING, after=PUSHED_FORWARD.format(feedback=0.1)))

    assert ill.growth.growing >= 1
    assert ill.growth.speeds[1] > 100 * ill.growth.speeds[0]
    assert ill.unusable == 0


def test_in_time_it_passes_mujocos_limit():
    ill = rolled(mjcf(arm(1), options=FLOATING, after=PUSHED_FORWARD.format(feedback=0.1)), steps=1000)

    assert ill.unusable == 8
    assert ill.warnings["BADQVEL"] > 0
    assert ill.first_unusable_step < 1000


def test_falling_bouncing_and_driven_models_do_not_grow():
    motor = '<actuator><motor joint="hinge0" gear="20" ctrlrange="-1 1"/></actuator>'

    assert rolled(mjcf(BALL.format(z=9)), steps=500).growth is None
    assert rolled(mjcf(BALL.format(z=0.3)), steps=500).growth is None
    assert rolled(mjcf(arm(3), after=motor), steps=500).growth is None
    assert rolled(mjcf(arm(3), after=PUSHED_FORWARD.format(feedback=-0.1))).growth is None


@pytest.mark.parametrize("power", [1, 2])
def test_steady_and_evenly_rising_forces_do_not_count_as_growth(power):
    """What falls from rest is many times as fast in its last tenth, and grows ever more slowly."""
    times = np.arange(1, 2001) / 2000

    assert not grows(times**power)
    assert grows(np.exp(8 * times))
    assert not grows(np.exp(8 * times)[:10])


def test_the_solvers_iterations_are_counted_where_something_is_solved():
    lying = rolled(mjcf(BALL.format(z=0.1)))
    one = rolled(mjcf(BALL.format(z=0.1), options='<option iterations="1"/>'))

    assert 1 <= lying.solver.mean <= lying.solver.largest < lying.solver.limit == 100
    assert lying.solver.at_limit == 0
    assert one.solver.at_limit == one.solver.steps > 0
    assert rolled(mjcf(arm(2))).solver is None
