"""What an author has fixed to float32 is no replay at x64."""

import pickle
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdoctor.bundles.bundle import Failure
from jaxdoctor.errors import NothingExaminedError
from jaxdoctor.replay.bundle_runs import replay_in_jax
from jaxdoctor.replay.float64 import insist_on_float64
from jaxdoctor.replay.native import replay
from jaxdoctor.replay.plan import NativePlan, RecordPlan, ReplayPlan
from jaxdoctor.replay.prepare import prepare
from jaxdoctor.replay.system import Simulation, system_of
from jaxdoctor.replay.systems.function import ARGUMENTS
from jaxdoctor.rollouts.policy import read_policy
from jaxdoctor.rollouts.sources.function import Named, written
from jaxdoctor.workers.progress import SILENT
from tests.replay.failing import by_hand
from tests.steppable import CODE

NARROW = """

class Rounded(Point):
    '''It hands on float32.'''

    def step(self, state, action):
        after = super().step(state, action)
        return after._replace(data=after.data.astype(jnp.float32))


class Inside(Point):
    '''It computes in float32, and hands on what it was given.'''

    def step(self, state, action):
        narrow = state._replace(data=state.data.astype(jnp.float32))
        after = super().step(narrow, action.astype(jnp.float32))
        return after._replace(data=after.data.astype(state.data.dtype))


class Shown(Point):
    '''The observation alone is float32, and what is computed of it: no state.'''

    def seen(self, data):
        return 2 * data.astype(jnp.float32)


def wide(x):
    return jnp.sin(x) @ x


def casts_at_last(x):
    return wide(x).astype(jnp.float32)


def narrow(x):
    return wide(x.astype(jnp.bfloat16))


def make():
    return jnp.ones(4)
"""


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    file = tmp_path_factory.mktemp("code") / "train.py"
    file.write_text(CODE + NARROW)
    return file


@pytest.fixture(scope="module")
def reset(code):
    """The folder in which one reset of all of them lies."""
    prepare(str(code.parent), environment(code, "Rounded"), progress=SILENT)
    return code.parent


def checked(plan, folder):
    """The check, as the worker with x64 makes it of what another has recorded without."""
    with jax.enable_x64(True):
        simulation = system_of(plan.model).load(plan, folder)
        insist_on_float64(simulation, simulation.blank, steps=plan.steps)


def environment(code, name):
    return RecordPlan(
        model=f"--env {code}:{name}", controls=None, replays=2, steps=5, seed=0, policy=read_policy(None)
    )


def function(code, name):
    named = Named(function=f"{code}:{name}", args=f"{code}:make")
    plan = RecordPlan(model=written(named), controls=None, replays=2, steps=1, seed=0)
    (code.parent / ARGUMENTS).write_bytes(pickle.dumps([np.ones((1, 4))]))
    return plan


@pytest.mark.parametrize("name", ["point", "Fallen", "Shown"])
def test_an_environment_that_follows_x64_is_let_through(code, reset, name):
    checked(environment(code, name), reset)


def test_the_leaf_that_is_fixed_is_named_and_no_counter_beside_it(code, reset):
    with pytest.raises(
        NothingExaminedError, match=r"with x64 the step fixes float32 in state\.data$"
    ) as caught:
        checked(environment(code, "Rounded"), reset)

    assert "no dtype" in caught.value.hint


def test_a_step_that_computes_in_float32_is_refused_whatever_it_hands_on(code, reset):
    with pytest.raises(NothingExaminedError, match=r"still computed in float32, from .*train\.py:\d+ on$"):
        checked(environment(code, "Inside"), reset)


@pytest.mark.parametrize("name", ["wide", "casts_at_last"])
def test_of_a_function_only_what_it_computes_counts(code, name):
    checked(function(code, name), code.parent)


def test_a_function_in_mixed_precision_has_no_float64(code):
    with pytest.raises(NothingExaminedError, match="still computed in bfloat16"):
        checked(function(code, "narrow"), code.parent)


@pytest.mark.parametrize("library", [True, False])
def test_a_system_says_what_its_state_is(library):
    """What a library steps is not traced once more."""

    def step(parameters, state, control):
        return {"x": (state["x"] + parameters).astype(jnp.float32), "seen": state["x"]}

    with jax.enable_x64(True):
        simulation = Simulation(
            step=step,
            parameters=jnp.asarray(0.1),
            blank={"seen": jnp.asarray(0.0), "x": jnp.asarray(0.0)},
            controls=0,
            carried=("x",),
            state=("x",),
            coordinates="x",
            seconds=1.0,
            follows_x64=library,
        )
        after = jax.eval_shape(step, simulation.parameters, simulation.blank, np.zeros(0))
        with pytest.raises(NothingExaminedError, match=r"the step fixes float32 in x$"):
            insist_on_float64(simulation, after, steps=2)


def test_the_worker_with_x64_refuses_it_before_it_compiles(reset):
    plan = NativePlan(
        title="x64", batch=2, replays=2, most_replays=2, is_reference=True, deadline=time.monotonic() + 100
    )

    with jax.enable_x64(True), pytest.raises(NothingExaminedError, match=r"fixes float32 in state\.data"):
        replay(str(reset), plan, progress=SILENT)


def test_so_does_a_replay_of_a_bundle(code, tmp_path):
    names = function(code, "narrow").model
    bundle = by_hand(
        tmp_path,
        system="function",
        subject=names,
        model=None,
        files={},
        state={"replay": np.zeros(1, np.int32)},
        first_step=0,
        control=np.zeros((1, 0)),
        failure=Failure(step=0, field="output"),
    )
    plan = ReplayPlan(bundle=str(bundle), argument=names, how="x64", deadline=time.monotonic() + 100)

    with jax.enable_x64(True), pytest.raises(NothingExaminedError, match="still computed in bfloat16"):
        replay_in_jax(str(tmp_path), plan, progress=SILENT)
