"""A function as a system: one call a replay, and one clear error for what cannot be called."""

import time

import numpy as np
import pytest

from jaxdoctor.errors import JaxdoctorError
from jaxdoctor.facts.precision import F32
from jaxdoctor.probe.ask import Ask
from jaxdoctor.probe.run import probe
from jaxdoctor.replay.attribution import Attributing
from jaxdoctor.replay.ensemble import Ensemble
from jaxdoctor.replay.hypotheses import FailingShares
from jaxdoctor.replay.local_cures import with_cures
from jaxdoctor.replay.plan import Lane, RecordPlan
from jaxdoctor.replay.system import system_of
from jaxdoctor.rollouts.sources.function import Named, written
from jaxdoctor.workers.progress import SILENT
from jaxdoctor.workers.worker import WorkerTimeoutError

REPLAYS = 4
TF32 = Lane(bits=10)

POLICY = """
import jax
import jax.numpy as jnp

FINE = 1 + 2.0**-11 + 2.0**-13  # Rounded to 10 bits it grows.


def trunk(weight, seen):
    return jnp.tanh(seen @ weight)


def head(weight, hidden):
    return hidden @ weight


def act(weights, seen):
    hidden = trunk(weights["trunk"], seen) + FINE
    return jnp.exp(88.6459 * head(weights["head"], hidden))  # exp overflows from 88.7228 on.


def calm(weights, seen):
    return head(weights["head"], trunk(weights["trunk"], seen))


def seeded(seed):
    weights = {"trunk": jnp.eye(16), "head": jnp.full((16, 16), 1 / 16)}
    return weights, jnp.full((8, 16), 1e-9 * (seed + 1))


def once():
    return jnp.linspace(1, 2, 16), jnp.arange(16), "a word", jax.random.key(3)


def told(numbers, indices, word, key):
    assert word == "a word"
    return {"sum": (numbers * indices).sum(), "noise": jax.random.normal(key)}


def large(output):
    return output["sum"] > 187


def nothing(*_):
    pass


@jax.jit
def jitted(weights, seen):
    return seen


def jits_inside(weights, seen):
    return jax.jit(lambda x: x + 1)(seen)


def uses_jax(weights, seen):
    return jnp.where(seen > 0, jnp.clip(seen, 0, 1), jax.nn.relu(seen))


def prints(weights, seen):
    print("hello")
    return seen


def prints_later(weights, seen):
    jax.debug.print("{}", seen)
    return seen


def raises(weights, seen):
    raise ValueError("no such gait")


def untraceable(weights, seen):
    return seen if seen.sum() > 0 else -seen


def sine(angles):
    return jnp.sin(angles)


def forever(weights, seen):
    return jax.lax.while_loop(lambda x: x.sum() < 1e9, jnp.sin, seen)


def counts(weights, seen):
    return (seen > 0).sum()


def shifting(seed):
    return (jnp.ones(seed + 1),)
"""


@pytest.fixture
def recorded(tmp_path):
    (tmp_path / "policy.py").write_text(POLICY)

    def record(function, args="seeded", check=None):
        file = f"{tmp_path}/policy.py"
        named = Named(function=f"{file}:{function}", args=f"{file}:{args}", check=check and f"{file}:{check}")
        plan = RecordPlan(model=written(named), controls=None, replays=REPLAYS, steps=1, seed=0)
        system = system_of(plan.model)
        recording, model = system.record(plan, tmp_path, SILENT)
        assert model is None
        return recording, system.load(plan, tmp_path)

    return record


def failed(recording, simulation, bits):
    ensemble = Ensemble(simulation, batch=REPLAYS, lanes=1, chunk=1)
    (rollout,) = ensemble.roll_out(recording, [Lane(bits=bits)])
    return rollout.bad.any(axis=(0, 2)), rollout


def test_the_overflowing_layer_of_a_policy_is_named_alone_and_cured(recorded):
    recording, simulation = recorded("act")
    ensemble = Ensemble(simulation, batch=REPLAYS, lanes=4, chunk=1)
    asked = FailingShares(
        ensemble, recording, replays=REPLAYS, deadline=time.monotonic() + 300, aside=(), progress=SILENT
    )
    search = Attributing(ensemble, TF32, asked, progress=SILENT)

    found = search.run()

    (need,) = found.needs
    assert need.place == f"policy.py:{POLICY.splitlines().index('    return hidden @ weight') + 1} (head)"
    assert found.products == 2
    assert found.unique
    *_, tried = with_cures(found, search, asked, simulation)
    assert tried.cured
    assert tried.around.functions == ("policy:head",)
    assert not tried.around.beyond
    assert tried.around.finite


def test_a_healthy_policy_is_healthy_at_every_width(recorded):
    recording, simulation = recorded("calm")

    assert not failed(recording, simulation, 1)[0].any()
    assert not failed(recording, simulation, F32.mantissa_bits)[0].any()


def test_arguments_made_once_are_varied_and_said_to_be(recorded):
    """The first call is the user's own; what is no floating number stays."""
    recording, simulation = recorded("told", "once")

    _, rollout = failed(recording, simulation, F32.mantissa_bits)

    sums, noises = rollout.states["output.sum"][1], rollout.states["output.noise"][1]
    assert sums[0] == pytest.approx(float((np.linspace(1, 2, 16) * np.arange(16)).sum()))
    assert len(set(sums.tolist())) == REPLAYS
    assert np.ptp(sums) / sums[0] < 0.01
    assert len(set(noises.tolist())) == 1
    assert "varied by a factor of 1 + 0.001 * normal(0, 1)" in recording.start


def test_what_the_check_calls_bad_counts_as_not_finite(recorded):
    plain, _ = failed(*recorded("told", "once"), F32.mantissa_bits)
    bad, rollout = failed(*recorded("told", "once", "large"), F32.mantissa_bits)

    sums = failed(*recorded("told", "once"), F32.mantissa_bits)[1].states["output.sum"][1]
    assert not plain.any()
    assert bad.tolist() == (sums > 187).tolist()
    assert rollout.leaves[0] == "check"


def test_jax_own_jitted_functions_are_not_the_users(recorded):
    assert not failed(*recorded("uses_jax"), F32.mantissa_bits)[0].any()


@pytest.mark.parametrize(
    ("function", "args", "message", "hint"),
    [
        ("nothing", "seeded", "nothing returns nothing", "finite"),
        ("jitted", "seeded", "jitted makes its own jit", "policy.py:jitted.__wrapped__"),
        ("jits_inside", "seeded", "(jits_inside), makes its own jit", "without jax.jit"),
        ("prints", "seeded", "prints prints 'hello'", "take the print out"),
        ("prints_later", "seeded", "prints, or calls Python", "without it"),
        ("raises", "seeded", "raises raises ValueError: no such gait", "it is raised at"),
        ("untraceable", "seeded", "cannot be traced: TracerBoolConversionError", "it is raised at"),
        ("counts", "seeded", "returns no floating number", "--check"),
        ("act", "raises", "raises(weights, seen) takes 2 arguments", "a parameter at most"),
        ("sine", "shifting", "returns other shapes than", "for every seed"),
        ("acts", "seeded", "no function in", "did you mean 'act'"),
        ("FINE", "seeded", "FINE is no function", "name what is called"),
    ],
)
def test_what_cannot_be_called_is_one_clear_error(recorded, function, args, message, hint):
    with pytest.raises(JaxdoctorError) as caught:
        recorded(function, args)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value) + caught.value.hint
    assert hint in caught.value.hint


def test_a_call_that_does_not_end_is_an_error_and_no_report(tmp_path, monkeypatch):
    """Its module is found from the current folder."""
    (tmp_path / "gaits.py").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    model = written(Named(function="gaits:forever", args="gaits:seeded"))

    with pytest.raises(WorkerTimeoutError, match="calling gaits:forever timed out after") as caught:
        probe(Ask(model=model, subject="gaits:forever", steps=1, time_limit=6), card="rtx-4090")

    assert caught.value.hint == "raise --time-limit, or look for what in it does not end"
