"""The guard: one bundle at the first step that is not finite, wherever the step runs."""

import subprocess
import sys
import types

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from jaxdoctor.bundles.bundle import COMPILED
from jaxdoctor.bundles.read import read
from jaxdoctor.remedies import guard
from jaxdoctor.remedies._ring import layout, leaves_of, row_of
from jaxdoctor.replay.bundle_runs import replay_in_c
from jaxdoctor.replay.plan import ReplayPlan
from jaxdoctor.workers.progress import SILENT
from tests.mjcf import arm, mjcf

BAD_AT = 9


def step(state, control):
    """Doubles, and breaks at its own step `bad`."""
    x = state["x"] * 2 + control.sum()
    return {"x": jnp.where(state["n"] == state["bad"], jnp.nan, x), "n": state["n"] + 1, "bad": state["bad"]}


def rolled(guarded, x, bad=BAD_AT, steps=20):
    """Twenty steps with the controls 0, 1, 2, ..."""
    watched = guarded.begin({"x": x, "n": jnp.int32(0), "bad": jnp.int32(bad)}, jnp.zeros(1))
    controls = jnp.arange(float(steps))[:, None]
    return jax.lax.scan(lambda state, control: (guarded(state, control), None), watched, controls)[0]


def done(value):
    jax.block_until_ready(value)
    jax.effects_barrier()
    return value


def test_the_steps_before_the_first_bad_one_are_written(tmp_path, capfd):
    path = tmp_path / "f.zip"

    out = done(jax.jit(lambda x: rolled(guard(step, path, rows=4), x))(jnp.ones(2)))

    bundle = read(path)
    assert (bundle.written_by, bundle.subject) == ("guard", "step")
    assert (bundle.failure.step, bundle.failure.field) == (BAD_AT, "x")
    assert (bundle.first_step, bundle.steps) == (6, 4)
    assert bundle.control.tolist() == [[6], [7], [8], [9]]
    assert bundle.state["n"].tolist() == [6, 7, 8, 9]
    expected = np.ones(2)
    for control in range(6):
        expected = expected * 2 + control
    np.testing.assert_array_equal(bundle.state["x"][0], expected)
    assert bundle.versions["jax"] == jax.__version__
    assert int(out.state["n"]) == 20
    assert "not finite after step 9 in row 0" in capfd.readouterr().err


def test_under_vmap_and_scan_the_row_that_failed_first_is_told_once(tmp_path, capfd):
    path = tmp_path / "f.zip"
    guarded = guard(step, path, rows=4)
    run = jax.jit(jax.vmap(lambda x, bad: rolled(guarded, x, bad)))

    done(run(jnp.ones((3, 2)) * jnp.arange(1.0, 4)[:, None], jnp.array([15, 7, 12])))

    bundle = read(path)
    assert (bundle.failure.replay, bundle.failure.step, bundle.failure.batch) == (1, 7, 3)
    assert bundle.state["bad"].tolist() == [7] * 4
    assert capfd.readouterr().err.count("not finite") == 1


def test_vmap_in_vmap_and_vmap_outside_of_jit(tmp_path):
    path = tmp_path / "f.zip"
    run = jax.vmap(jax.jit(jax.vmap(lambda x, bad: rolled(guard(step, path, rows=4), x, bad))))

    done(run(jnp.ones((2, 3, 2)), jnp.array([[50, 50, 50], [50, 3, 50]])))

    assert (read(path).failure.replay, read(path).failure.step) == (4, 3)


def test_a_finite_run_writes_nothing_and_computes_the_same(tmp_path):
    path = tmp_path / "f.zip"

    out = done(jax.jit(lambda x: rolled(guard(step, path), x, bad=50))(jnp.ones(2)))

    assert not path.exists()
    state = {"x": jnp.ones(2), "n": jnp.int32(0), "bad": jnp.int32(50)}
    for control in range(20):
        state = step(state, jnp.array([float(control)]))
    np.testing.assert_array_equal(out.state["x"], state["x"])


def test_only_the_first_failure_calls_python(tmp_path, monkeypatch):
    """Nothing is called for a finite step, nor again for the steps after the failure."""
    from jaxdoctor.remedies import _guard_bundle

    calls = []
    monkeypatch.setattr(_guard_bundle.Writer, "tell", lambda _, *values: calls.append(values))

    done(jax.jit(jax.vmap(lambda x: rolled(guard(step, tmp_path / "f.zip", rows=4), x)))(jnp.ones((5, 2))))

    assert len(calls) == 1


def test_it_stops_where_that_is_asked(tmp_path):
    guarded = guard(step, tmp_path / "f.zip", stop=True)

    with pytest.raises(Exception, match="step 9 is not finite in row 0"):
        done(jax.jit(lambda x: rolled(guarded, x))(jnp.ones(2)))


def test_a_bundle_that_cannot_be_written_does_not_end_the_run(tmp_path, capfd):
    out = done(jax.jit(lambda x: rolled(guard(step, tmp_path / "gone" / "f.zip"), x))(jnp.ones(2)))

    assert int(out.state["n"]) == 20
    assert "cannot be written" in capfd.readouterr().err


def test_gradients_pass(tmp_path):
    guarded = guard(lambda state, control: state * control.sum(), tmp_path / "f.zip")

    def loss(control):
        watched = guarded.begin(jnp.ones(2), control)
        for _ in range(3):
            watched = guarded(watched, control)
        return watched.state.sum()

    assert jax.grad(loss)(jnp.ones(2)).tolist() == [24, 24]


def test_what_cannot_be_guarded_is_said(tmp_path):
    with pytest.raises(ValueError, match="rows is 0"):
        guard(step, tmp_path / "f.zip", rows=0)
    with pytest.raises(TypeError, match="neither"):
        guard(3, tmp_path / "f.zip")


def test_every_bit_of_a_row_comes_back():
    leaves = {
        "f4": jnp.array([1.5, -0.0, jnp.nan]),
        "key": jax.random.key_data(jax.random.key(7)),
        "bool": jnp.array(True),
        "bf16": jnp.array([2.5], jnp.bfloat16),
        "i2": jnp.array([[-3, 4]], jnp.int16),
    }

    found = leaves_of(np.asarray(row_of(leaves))[None], layout(leaves))

    for name, leaf in leaves.items():
        np.testing.assert_array_equal(found[name][0], np.asarray(leaf, found[name].dtype))


class Data:
    """Of a physics, what a guard reads: a pytree with MuJoCo's names."""

    def __init__(self, qpos, qvel, ctrl, qacc):
        self.qpos, self.qvel, self.ctrl, self.qacc = qpos, qvel, ctrl, qacc


jax.tree_util.register_pytree_node(
    Data, lambda data: ((data.qpos, data.qvel, data.ctrl, data.qacc), None), lambda _, leaves: Data(*leaves)
)


class State:
    """As Brax and Playground have it."""

    def __init__(self, pipeline_state, obs, reward, done, info):
        self.pipeline_state, self.obs, self.reward, self.done, self.info = (
            pipeline_state, obs, reward, done, info,
        )  # fmt: skip

    def replace(self, **changes):
        return State(**{**vars(self), **changes})


jax.tree_util.register_pytree_node(
    State,
    lambda state: ((state.pipeline_state, state.obs, state.reward, state.done, state.info), None),
    lambda _, leaves: State(*leaves),
)

RUNAWAY = mjcf(
    arm(1, joint='damping="-2"'),
    options='<option gravity="0 0 0"><flag eulerdamp="disable"/></option>',
    after='<actuator><motor joint="hinge0"/></actuator>',
)


class Environment:
    """A hinge with negative damping, stepped by a few lines of our own: two steps of its physics in one."""

    action_size = 1
    _n_frames = 2

    def __init__(self):
        self.sys = types.SimpleNamespace(mj_model=mujoco.MjModel.from_xml_string(RUNAWAY))
        self.inertia = float(self.sys.mj_model.dof_M0[0])

    def reset(self, key):
        data = Data(jnp.zeros(1), jax.random.uniform(key, (1,)), jnp.zeros(1), jnp.zeros(1))
        return State(data, jnp.zeros(2), jnp.float32(0), jnp.float32(0), {"rng": jax.random.key_data(key)})

    def step(self, state, action):
        data = state.pipeline_state
        for _ in range(self._n_frames):
            qacc = (action + 2 * data.qvel) / self.inertia
            qvel = data.qvel + 0.002 * qacc
            data = Data(data.qpos + 0.002 * qvel, qvel, action, qacc)
        observation = jnp.concatenate([data.qpos, data.qvel])
        return state.replace(pipeline_state=data, obs=observation, reward=observation.sum())


def test_an_environment_keeps_its_class_and_its_failure_replays_in_c(tmp_path):
    """The whole way: guarded under vmap and scan, written, and replayed by MuJoCo itself."""
    path = tmp_path / "f.zip"
    env = guard(Environment(), path, rows=8)
    assert isinstance(env, Environment)

    def run(key):
        controls = jnp.zeros((80, 1))
        return jax.lax.scan(lambda state, u: (env.step(state, u), None), env.reset(key), controls)[0]

    out = done(jax.jit(jax.vmap(run))(jax.random.split(jax.random.key(0), 3)))

    bundle = read(path)
    assert set(bundle.state) == {"qpos", "qvel", "key"}
    assert bundle.failure.field == "qacc"
    assert (bundle.substeps, bundle.keys, bundle.system) == (2, ("key",), "mjx")
    assert list(bundle.files) == [COMPILED]
    assert bundle.steps == 8
    assert not np.isfinite(out.obs).all()
    (tmp_path / "scratch").mkdir()
    plan = ReplayPlan(bundle=str(path), deadline=0)
    (run_in_c,) = replay_in_c(str(tmp_path / "scratch"), plan, progress=SILENT)
    assert run_in_c.failed


def test_it_imports_jax_alone(tmp_path):
    """`pip install --no-deps jaxdoctor` is enough."""
    code = f"""
import sys
class Refuses:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {{"mujoco", "typer", "rich", "yaml", "tensorstore", "msgpack", "brax"}}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuses())
import jax, jax.numpy as jnp
from jaxdoctor.remedies import guard
step = guard(lambda state, control: state / control.sum(), {str(tmp_path / "f.zip")!r})
out = jax.jit(step)(step.begin(jnp.ones(2), jnp.zeros(1)), jnp.zeros(1))
jax.block_until_ready(out)
jax.effects_barrier()
"""
    done_ = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done_.returncode == 0, done_.stderr
    assert read(tmp_path / "f.zip").failure.step == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Brax System:UserWarning", "ignore:Accessing:DeprecationWarning")
def test_braxs_ant_is_guarded_through_braxs_own_wrappers(tmp_path):
    """A NaN in a few environments of a batch, under the wrappers that Brax trains with."""
    envs = pytest.importorskip("brax.envs")
    path = tmp_path / "f.zip"
    env = guard(envs.get_environment("ant", backend="spring"), path, name="brax:ant", rows=4)
    wrapped = envs.training.wrap(env, episode_length=10)

    def run(keys):
        def advance(state, number):
            action = jnp.zeros((4, env.action_size)).at[2].set(jnp.where(number == 6, jnp.nan, 0.1))
            return wrapped.step(state, action), None

        return jax.lax.scan(advance, wrapped.reset(keys), jnp.arange(9))[0]

    # Brax counts episodes by the shape of raw keys.
    done(jax.jit(run)(jax.random.split(jax.random.PRNGKey(0), 4)))

    bundle = read(path)
    assert (bundle.subject, bundle.failure.replay, bundle.failure.step) == ("brax:ant", 2, 6)
    assert {"q", "qd"} <= set(bundle.state)
    assert bundle.control.shape == (4, env.action_size)
