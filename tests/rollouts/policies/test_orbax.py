"""Orbax trees with a function of the user's."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdoctor.errors import UsageError
from jaxdoctor.rollouts.policy import load_policy, read_policy

NETWORK = """
import jax.numpy as jnp


def network(parameters, observation):
    for layer in parameters["layers"]:
        observation = jnp.tanh(observation @ layer["w"])
    return observation
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with a script and a tree that has a list in it."""
    folder = tmp_path_factory.mktemp("orbax")
    (folder / "network_of_orbax.py").write_text(NETWORK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import orbax.checkpoint as ocp

        layers = [{"w": np.full((4, 3), 0.2, "f4")}, {"w": np.full((3, 2), 0.3, "f4")}]
        with ocp.PyTreeCheckpointer() as checkpointer:
            checkpointer.save(folder / "100", {"layers": layers, "step": 100})
    return folder, layers


def test_the_tree_comes_as_orbax_restores_it(saved):
    """With lists where lists were saved."""
    folder, layers = saved

    policy = load_policy(str(folder / "100"), f"{folder}/network_of_orbax.py:network", 4, 2, seed=0)
    action = policy.apply(policy.parameters, jnp.ones(4), jax.random.key(0)).action

    assert np.allclose(action, np.tanh(np.tanh(np.ones(4) @ layers[0]["w"]) @ layers[1]["w"]), rtol=1e-5)
    assert policy.name == f"{folder}/100 with {folder}/network_of_orbax.py:network"
    assert policy.statistics is None


def test_without_a_network_it_is_only_weights(saved):
    """Nothing says what computes with them."""
    with pytest.raises(UsageError, match="holds weights, and nothing says which network") as raised:
        read_policy(str(saved[0] / "100"))

    assert "--network module:function" in raised.value.hint
