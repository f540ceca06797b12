"""All widths of one rollout, on simulations that compile at once."""

import contextlib
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdoctor.facts.precision import BF16, F32, TF32
from jaxdoctor.replay import sweep as module
from jaxdoctor.replay.ensemble import Ensemble
from jaxdoctor.replay.plan import Lane, SweepPlan
from jaxdoctor.replay.scratch import Reference
from jaxdoctor.replay.system import Simulation
from jaxdoctor.rollouts.record import Recording
from jaxdoctor.workers.progress import SILENT

SIZE, REPLAYS, STEPS = 16, 8, 40


def turning(*, rounded):
    """A simulation that turns a vector by the same orthogonal matrix in every step, or that halves it."""
    values = np.random.default_rng(0).standard_normal((SIZE, SIZE))
    matrix = jnp.asarray(np.linalg.qr(values)[0], jnp.float32)

    def step(parameters, state, ctrl):
        del ctrl
        x = state["x"]
        return {"x": jnp.matmul(parameters, x, precision=None) if rounded else x / 2}

    return Simulation(
        step=step,
        parameters=matrix,
        blank={"x": jnp.zeros((SIZE, SIZE), jnp.float32)},
        controls=0,
        carried=("x",),
        state=("x",),
        coordinates="x",
        seconds=0.1,
    )


def recording():
    starts = np.random.default_rng(1).standard_normal((REPLAYS, SIZE, SIZE))
    return Recording(starts={"x": starts}, ctrl=np.zeros((REPLAYS, STEPS, 0)), start="", controls="")


class Scratch:
    """What a sweep reads of the folder, its own float32 replay in place of the one at x64."""

    def __init__(self, simulation):
        self._simulation = simulation

    def recording(self):
        return recording()

    def simulation(self):
        return self._simulation

    def busy(self):
        return contextlib.nullcontext()

    def wait_for_reference(self, deadline):
        del deadline
        exact = Ensemble(self._simulation, batch=REPLAYS, emulated=False)
        with jax.default_matmul_precision("highest"):
            (rollout,) = exact.roll_out(recording(), [Lane()])
        return Reference(states=rollout.states, finite=np.ones(REPLAYS, bool), aside=())


def swept(monkeypatch, simulation):
    monkeypatch.setattr(module, "Scratch", lambda _: Scratch(simulation))
    plan = SweepPlan(
        batch=REPLAYS,
        replays=REPLAYS,
        most_replays=REPLAYS,
        clear_above=1.0,
        named=(F32, TF32, BF16),
        delivered=TF32,
        widths=tuple(bits for bits in range(22, 0, -1) if bits not in (10, 7)),
        searched=True,
        behaves=True,
        deadline=time.monotonic() + 300,
    )
    return module.sweep("", plan, progress=SILENT)


def test_the_width_that_behaves_otherwise_is_the_one_whose_rounding_shows(monkeypatch):
    """A vector of norm 4 is turned 40 times: errors of a hundredth need some 2^-9 a step."""
    found = swept(monkeypatch, turning(rounded=True))

    named = dict(found.named)
    assert len(found.sites) == 1
    assert named[BF16].horizon is not None
    assert named[F32].horizon is None
    assert 8 <= found.behaviour_bits <= 15
    assert found.widths  # 1 bit among them, at which the vector is soon another
    assert all(judgement.failed == 0 for judgement in named.values())


def test_where_nothing_is_rounded_one_lane_answers_for_all(monkeypatch):
    lanes = []
    compile_ = Ensemble.compile

    def compiling(self):
        lanes.append(self.lanes)
        compile_(self)

    monkeypatch.setattr(Ensemble, "compile", compiling)

    found = swept(monkeypatch, turning(rounded=False))

    assert lanes[0] == 1
    assert {precision for precision, _ in found.named} == {F32, TF32, BF16}
    assert [bits for bits, _ in found.widths] == [1]
    assert found.behaviour_bits is None
    assert found.unfinished == ()


@pytest.mark.parametrize("most", [8, 24])
def test_light_models_are_replayed_until_all_are_done(monkeypatch, most):
    """No failure is clear only once the share that may be hidden is small enough."""
    simulation = turning(rounded=False)
    starts = np.random.default_rng(1).standard_normal((most, SIZE, SIZE))
    many = Recording(starts={"x": starts}, ctrl=np.zeros((most, STEPS, 0)), start="", controls="")
    monkeypatch.setattr(Scratch, "recording", lambda _: many)
    monkeypatch.setattr(module, "Scratch", lambda _: Scratch(simulation))
    plan = SweepPlan(
        batch=8,
        replays=8,
        most_replays=most,
        clear_above=0.0,
        named=(F32,),
        delivered=F32,
        widths=(),
        searched=True,
        compares=False,
        deadline=time.monotonic() + 300,
    )

    found = module.sweep("", plan, progress=SILENT)

    assert dict(found.named)[F32].replays == most
