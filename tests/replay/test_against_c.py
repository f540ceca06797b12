"""One step from each of C's states, against C's own."""

from types import SimpleNamespace

import mujoco
import numpy as np

from jaxdoctor.replay.against_c import parting, states_in_c, tolerance_of
from jaxdoctor.replay.ensemble import Rollout
from jaxdoctor.replay.system import Twin
from jaxdoctor.rollouts.record import record
from tests.mjcf import BALL, arm, mjcf

STATE = ("qpos", "qvel", "act", "qacc_warmstart")


class Engine:
    """Stands for a compiled MJX: it steps as C does, with a push on top in some of the steps."""

    batch = 3
    simulation = SimpleNamespace(carried=STATE)

    def __init__(self, push, steps=()):
        self.push, self.steps = push, set(steps)

    def roll_out(self, recording, lanes, *, reference, deadline=None):
        del deadline
        assert lanes[0].forced
        states = {name: values.copy() for name, values in reference.items()}
        for step in self.steps:
            states["qvel"][step + 1] += self.push
        return [self.rollout(recording, states)]

    def rollout(self, recording, states):
        bad = np.zeros((recording.steps, self.batch, 1), bool)
        return Rollout(bad=bad, leaves=("qacc",), states=states)


def parted(engine, xml=None, steps=20):
    model = mujoco.MjModel.from_xml_string(xml or mjcf(arm(2)))
    twin = Twin(model=model)
    recording = record(model, replays=Engine.batch, steps=steps, seed=0)
    free = engine.rollout(recording, states_in_c(twin, recording, Engine.batch))
    return parting(twin, engine, recording, free)


def test_an_engine_that_steps_as_c_does_parts_nowhere():
    found = parted(Engine(0.0))

    assert (found.steps, found.parted, found.error, found.horizon) == (60, 0, 0.0, None)


def test_steps_that_differ_are_counted_and_the_worst_are_named():
    found = parted(Engine(1.0, steps=(4, 9)))

    assert found.parted == 6
    assert {step for step, _ in found.worst} == {4, 9}
    assert found.error > found.tolerance


def test_what_the_stopping_tolerance_explains_is_no_parting():
    found = parted(Engine(1e-9, steps=range(20)))

    assert 0 < found.error < found.tolerance
    assert found.parted == 0


def test_the_tolerance_follows_the_solvers():
    coarse, fine = (
        mujoco.MjModel.from_xml_string(mjcf(BALL.format(z=1), options=f'<option tolerance="{value}"/>'))
        for value in ("1e-6", "0")
    )

    assert tolerance_of(coarse) == 1e-2
    assert tolerance_of(fine) == 1e-6


def test_a_state_that_holds_more_than_cs_is_not_compared():
    engine = Engine(0.0)
    engine.simulation = SimpleNamespace(carried=(*STATE, "info.rng"))

    assert parted(engine) is None


def test_cs_states_are_those_of_its_own_rollout():
    model = mujoco.MjModel.from_xml_string(mjcf(BALL.format(z=0.3)))
    recording = record(model, replays=2, steps=30, seed=0)

    states = states_in_c(Twin(model=model), recording, 2)

    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = recording.qpos[1], recording.qvel[1]
    for step in range(30):
        np.testing.assert_array_equal(states["qpos"][step, 1], data.qpos)
        mujoco.mj_step(model, data)
    np.testing.assert_array_equal(states["qvel"][30, 1], data.qvel)


RUNAWAY = """<actuator>
  <general joint="hinge0" biastype="affine" biasprm="0 0 {feedback}" ctrlrange="-1 1"/>
</actuator>"""


def test_steps_beyond_mujocos_limits_tell_nothing_and_early_ones_are_named_first():
    """C's own rollout runs away: there rounding alone makes any difference large."""
    xml = mjcf(arm(1), options='<option timestep="0.002"/>', after=RUNAWAY.format(feedback=1.0))
    found = parted(Engine(1.0, steps=(3, 199)), xml, steps=200)

    assert found.steps < 200 * Engine.batch
    assert {step for step, _ in found.worst} == {3}
