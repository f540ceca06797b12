"""Environments told apart by what their reset returns, and one clear error for what is none."""

import jax
import jax.numpy as jnp
import pytest

from jaxdoctor.errors import JaxdoctorError
from jaxdoctor.rollouts.environments import make
from jaxdoctor.rollouts.sources.environment import environment_named
from tests.steppable import CODE


@pytest.fixture
def made(tmp_path):
    (tmp_path / "train.py").write_text(CODE)
    return lambda name: make(environment_named(f"{tmp_path}/train.py:{name}"))


def test_an_environment_like_brax(made):
    environment = made("point")
    state = environment.reset(jax.random.PRNGKey(0))
    after = environment.step(state, jnp.ones(1))

    assert (environment.action_size, environment.discrete, environment.seconds) == (1, False, 0.1)
    assert environment.observation(after).shape == (2,)
    assert environment.physics == "data"
    restarted = environment.restarted(state, after)
    assert (restarted.data == state.data).all()
    assert restarted.info["steps"] == 1, "auto-reset wrappers put physics and observation back, nothing else"


def test_an_environment_like_gymnax_without_its_own_reset(made):
    environment = made("choice")
    state = environment.reset(jax.random.PRNGKey(0))
    after = environment.step(state, jnp.int32(2))

    assert (environment.action_size, environment.discrete) == (3, True)
    assert environment.observation(after)[1] == 1
    assert (after["key"] != state["key"]).any(), "each step has a key of its own"
    assert environment.restarted(state, after)["state"] == state["state"]


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("prints", "prints 'hello'", "take the print out"),
        ("raises", "raises ValueError: no such robot", "train.py:"),
        ("number", "returns int, which is no environment", "mujoco.MjModel"),
        ("Resets", "resets by itself", "auto-reset wrapper"),
        ("Batch", r"a batch of environments, for done has the shape \(3,\)", "vmap wrapper"),
        ("Sizeless", "does not say how many numbers an action has", "action_size"),
        ("nothere", "no function in .* named 'nothere'", "known are"),
    ],
)
def test_what_cannot_be_replayed_is_one_clear_error(made, capsys, name, message, hint):
    with pytest.raises(JaxdoctorError, match=message) as caught:
        made(name)

    assert hint in caught.value.hint
    assert not capsys.readouterr().out
