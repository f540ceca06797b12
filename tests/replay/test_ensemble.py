"""Replays of small models through the compiled program."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdoctor.replay.ensemble import Ensemble, failed_counts
from jaxdoctor.replay.plan import Lane
from jaxdoctor.replay.system import Simulation
from jaxdoctor.rollouts.record import Recording

PENDULUM = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <body>
      <joint name="hinge" type="hinge" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03"/>
    </body>
  </worldbody>
  <actuator><motor joint="hinge" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


def test_a_pendulum_is_finite_at_every_width(tmp_path):
    """It has no matrix product at all, so no width can hurt it."""
    model = tmp_path / "pendulum.xml"
    model.write_text(PENDULUM)

    assert failed_counts(str(model), [23, 10, 1], replays=2, steps=30) == {23: 0, 10: 0, 1: 0}


def counting(limit=3.0):
    """A simulation whose coordinate grows by the control, is lost above a limit, and counts its own loop.

    The loop ends on a tolerance, which NaN never satisfies: as MJX's solver does.
    """

    def step(parameters, state, ctrl):
        x = state["x"] + ctrl[0]
        x = jnp.where(x > parameters, jnp.nan, x)

        def falls(loop):
            return ~(loop[0] < 0.1) & (loop[1] < 100)

        _, turns = jax.lax.while_loop(falls, lambda loop: (loop[0] / 2, loop[1] + 1), (x - x + 1, 0))
        return {"x": x, "turns": turns}

    return Simulation(
        step=step,
        parameters=jnp.float32(limit),
        blank={"x": jnp.float32(0), "turns": jnp.int32(0)},
        controls=1,
        carried=("x", "turns"),
        state=("x",),
        coordinates="x",
        seconds=0.1,
    )


def driven(*speeds, steps=8):
    """A recording in which each replay grows at its own speed."""
    ctrl = np.broadcast_to(np.reshape(speeds, (-1, 1, 1)), (len(speeds), steps, 1)).astype(float)
    return Recording(starts={"x": np.zeros(len(speeds))}, ctrl=ctrl, start="zero", controls="constant")


@pytest.mark.parametrize(
    "named", [{"carried": ("x", "y")}, {"state": ("y",)}, {"coordinates": "y"}, {"kept": ("x", "y")}]
)
def test_a_name_that_is_no_leaf_is_refused_before_anything_is_compiled(named):
    with pytest.raises(ValueError, match=r"y, of `Simulation\.[a-z]+`, is no leaf"):
        Ensemble(replace(counting(), **named), batch=1, emulated=False)


def test_a_failed_replay_s_row_is_filled_from_a_healthy_one():
    """It fails once, in the step where it is lost, and costs nothing more; the others do not change."""
    ensemble = Ensemble(counting(), batch=3, emulated=False, chunk=4)

    (mixed,) = ensemble.roll_out(driven(0.25, 1.0, 0.125), [Lane()])
    (healthy,) = ensemble.roll_out(driven(0.25, 0.25, 0.125), [Lane()])

    turns = mixed.states["turns"][1:, 1]
    assert mixed.bad[:, :, 0].argmax(axis=0).tolist() == [0, 3, 0]
    assert mixed.bad[3:, 1].all()
    assert not mixed.bad[:, [0, 2]].any()
    assert turns.tolist() == [4, 4, 4, 100, 4, 4, 4, 4]
    assert np.isnan(mixed.states["x"][4:, 1]).all()
    np.testing.assert_array_equal(mixed.states["x"][:, [0, 2]], healthy.states["x"][:, [0, 2]])


def test_a_lane_without_a_healthy_replay_takes_another_lane_s():
    ensemble = Ensemble(counting(), batch=2, lanes=2, emulated=False, chunk=4)

    lost, healthy = ensemble.roll_out(driven(2.0, 2.5, 0.25, 0.125), [Lane(), Lane(first=2)])

    assert lost.bad[1:].all()
    assert lost.states["turns"][3:].max() == 4
    assert healthy.states["x"][-1].tolist() == [2.0, 1.0]
    assert not healthy.bad.any()


def test_a_launch_ends_when_no_replay_is_finite():
    """What is left of the chunk is not computed, and no further chunk is begun."""
    ensemble = Ensemble(counting(), batch=2, emulated=False, chunk=4)

    (rollout,) = ensemble.roll_out(driven(2.0, 4.0), [Lane()])

    assert len(rollout.bad) == 4
    assert rollout.bad[1:].all()
    assert rollout.states["turns"][1:, 1].tolist() == [100] + [rollout.states["turns"][2, 1]] * 3


def test_forced_steps_start_from_the_reference_and_a_lost_reference_costs_nothing():
    """The error of one step does not add up; where the reference is lost the row computes a healthy one."""
    ensemble = Ensemble(counting(), batch=2, emulated=False, chunk=4)
    (reference,) = ensemble.roll_out(driven(1.0, 0.25), [Lane()])

    (forced,) = ensemble.roll_out(driven(0.5, 0.5), [Lane(forced=True)], reference=reference.states)

    np.testing.assert_allclose(forced.states["x"][1:, 1], reference.states["x"][:-1, 1] + 0.5)
    assert forced.states["x"][1:4, 0].tolist() == [0.5, 1.5, 2.5]
    assert forced.bad[4:, 0].all()
    assert forced.states["turns"][6:].max() == 4


def test_a_trial_chunk_is_run_only_where_it_may_be_given_up(monkeypatch):
    """It costs a chunk of steps, so it is for chains that may crawl."""
    ensemble = Ensemble(counting(), batch=2)
    seen = []
    monkeypatch.setattr(ensemble, "roll_out", lambda recording, lanes: seen.append((recording.steps, lanes)))
    long = Recording(starts={"x": np.zeros(2)}, ctrl=np.zeros((2, 60, 1)), start="zeros", controls="none")

    ensemble.run_chunk(long, None)
    ensemble.run_chunk(long, 30.0)

    assert seen == [(ensemble.chunk, [Lane()])]
