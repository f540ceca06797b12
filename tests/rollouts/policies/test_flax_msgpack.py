"""Weights in Flax's msgpack, with a module or a function of the user's."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdoctor.errors import NothingExaminedError, UnreadableError, UsageError
from jaxdoctor.rollouts.policy import Sizes, build_policy, load_policy, read_policy

ROUNDING = {"rtol": 1e-5, "atol": 1e-6}
"""Sums of eight float32 products, in another order."""
OBSERVATION = jnp.linspace(-1.0, 2.0, 4)

NETWORKS = """
import jax.numpy as jnp
from flax import linen


class Actor(linen.Module):
    outputs: int = 2

    @linen.compact
    def __call__(self, observation):
        hidden = jnp.tanh(linen.Dense(8)(observation))
        return linen.Dense(self.outputs)(hidden)


def module():
    return Actor()


def wide():
    return Actor(outputs=4)


class Normal:
    def __init__(self, mean):
        self.mean = mean

    def mode(self):
        return self.mean

    def sample(self, seed):
        return self.mean + 1


def actor_critic(parameters, observation):
    return Normal(Actor().apply(parameters, observation)), 0.0


def with_key(parameters, observation, key):
    return Actor().apply(parameters, observation) + key.sum()


def raises(parameters, observation):
    return parameters["nothing"]


def five(parameters, observation):
    return jnp.zeros(5)


def one(observation):
    return observation
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The folder of a training script with its weights, and the weights."""
    folder = tmp_path_factory.mktemp("flax")
    (folder / "networks_of_flax.py").write_text(NETWORKS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from flax import serialization
    layers = {
        f"Dense_{index}": {
            "kernel": jax.random.normal(jax.random.key(index), shape),
            "bias": jnp.full(shape[1], 0.1),
        }
        for index, shape in enumerate([(4, 8), (8, 2)])
    }
    (folder / "params.msgpack").write_bytes(serialization.to_bytes({"params": layers}))
    state = {"step": np.int32(7), "params": {"params": layers}, "opt_state": {"0": {"mu": layers}}}
    (folder / "state.msgpack").write_bytes(serialization.to_bytes(state))
    wide = {**layers, "Dense_1": {"kernel": jnp.ones((8, 4)), "bias": jnp.zeros(4)}}
    (folder / "wide.msgpack").write_bytes(serialization.to_bytes(wide))
    return folder, layers


def expected(layers):
    hidden = np.tanh(OBSERVATION @ layers["Dense_0"]["kernel"] + layers["Dense_0"]["bias"])
    return hidden @ layers["Dense_1"]["kernel"] + layers["Dense_1"]["bias"]


def played(folder, file, network, *, stochastic=False):
    read = read_policy(str(folder / file), f"{folder}/networks_of_flax.py:{network}")
    policy = build_policy(read, Sizes(observation=4, action=2), stochastic=stochastic)
    return policy.apply(policy.parameters, OBSERVATION, jnp.zeros(2, jnp.uint32))


@pytest.mark.parametrize("file", ["params.msgpack", "state.msgpack"])
def test_a_module_is_given_its_weights(saved, file):
    """Whether the weights were saved alone or in a training state."""
    folder, layers = saved

    act = played(folder, file, "module")

    assert np.allclose(act.action, expected(layers), **ROUNDING)
    assert act.normalised.tolist() == OBSERVATION.tolist()


def test_a_distribution_with_a_value_gives_its_mode_or_draws(saved):
    """As actor-critic networks return: the value is of no account."""
    folder, layers = saved

    modes, drawn = (
        played(folder, "params.msgpack", "actor_critic", stochastic=draws) for draws in (False, True)
    )

    assert np.allclose(modes.action, expected(layers), **ROUNDING)
    assert np.allclose(drawn.action, expected(layers) + 1, **ROUNDING)


def test_a_function_may_take_a_key(saved):
    """It is the third argument."""
    folder, layers = saved

    assert np.allclose(played(folder, "params.msgpack", "with_key").action, expected(layers), **ROUNDING)


def test_twice_as_many_outputs_are_means_and_deviations(saved):
    """As Brax's networks give them; weights without a collection's name are flax's params."""
    folder, _ = saved

    act = played(folder, "wide.msgpack", "wide")

    assert act.output.shape == (4,)
    assert np.allclose(act.action, np.tanh(act.output[:2]), **ROUNDING)


def test_the_network_must_be_named_and_fit(saved):
    """Each with a way out."""
    folder, _ = saved
    path, script = str(folder / "params.msgpack"), f"{folder}/networks_of_flax.py"
    cases = {
        None: "nothing says which network they are of",
        "brax:ppo": "names no function",
        f"{script}:nowhere": "no function in .* named 'nowhere'",
        f"{script}:five": r"gives float32 of the shape \[5\], and the environment takes 2 actions",
        f"{script}:one": r"is no network of \(parameters, observation\)",
    }
    for network, message in cases.items():
        with pytest.raises(UsageError, match=message):
            load_policy(path, network, 4, 2, seed=0)
    with pytest.raises(NothingExaminedError, match="raises KeyError"):
        load_policy(path, f"{script}:raises", 4, 2, seed=0)
    with pytest.raises(NothingExaminedError, match="for an observation of 9 raises"):
        load_policy(path, f"{script}:module", 9, 2, seed=0)


def test_a_file_that_is_cut_off_is_not_replayed(saved, tmp_path):
    """It is no shorter policy."""
    whole = (saved[0] / "params.msgpack").read_bytes()
    (tmp_path / "params.msgpack").write_bytes(whole[: len(whole) // 2])

    with pytest.raises(UnreadableError, match="cannot be replayed"):
        read_policy(str(tmp_path / "params.msgpack"), "train.py:network")
