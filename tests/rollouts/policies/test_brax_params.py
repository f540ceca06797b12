"""Files of Brax's `save_params`: read without executing them, and what they do not say is asked for."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdoctor.errors import UnreadableError, UsageError
from jaxdoctor.rollouts.policy import load_policy, read_policy
from tests.rollouts.policies.brax_saved import saved_by_brax
from tests.rollouts.policies.test_brax_checkpoint import ROUNDING

KEY = jax.random.key(5)
OBSERVATION = jnp.linspace(-1.0, 2.0, 4)


def test_ppos_file_acts_as_in_brax(tmp_path):
    """It does not say the activation, so Brax's own is assumed, and that is said."""
    saved = saved_by_brax(tmp_path)

    policy = load_policy(str(saved.params), None, 4, 2, seed=0)
    act = policy.apply(policy.parameters, OBSERVATION, KEY)

    assert policy.name == f"{saved.params} (Brax PPO, activation swish assumed)"
    assert np.allclose(act.action, saved.acts(OBSERVATION, KEY, True), **ROUNDING)


def test_the_distribution_is_told_by_the_weights(tmp_path):
    """A standard deviation of its own stands among them, as it is or as its logarithm."""
    saved = saved_by_brax(tmp_path, distribution_type="normal", noise_std_type="log")

    policy = load_policy(str(saved.params), None, 4, 2, seed=0)
    act = policy.apply(policy.parameters, OBSERVATION, KEY)

    assert np.allclose(act.output, np.concatenate(saved.logits(OBSERVATION)), **ROUNDING)


def test_two_networks_may_be_sacs_or_an_older_ppos(tmp_path):
    """Where nothing tells, one word does."""
    saved = saved_by_brax(tmp_path, agent="sac", hidden_layer_sizes=(16, 16))

    with pytest.raises(UsageError, match="whether it is PPO's or SAC's") as raised:
        read_policy(str(saved.params))
    assert "--network brax:sac" in raised.value.hint

    policy = load_policy(str(saved.params), "brax:sac", 4, 2, seed=0)
    action = policy.apply(policy.parameters, OBSERVATION, KEY).action
    assert np.allclose(action, saved.acts(OBSERVATION, KEY, True), **ROUNDING)


def test_any_other_pickle_is_refused(tmp_path):
    """It is no policy of Brax's."""
    path = tmp_path / "weights.pkl"
    path.write_bytes(pickle.dumps({"w": np.zeros(3)}))

    with pytest.raises(UsageError, match="none of Brax's save_params") as raised:
        read_policy(str(path))
    assert "--policy module:policy" in raised.value.hint
    with pytest.raises(UsageError, match="--network takes brax:ppo or brax:sac"):
        read_policy(str(path), "train.py:network")


class Call:
    """A pickle of it calls a function."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return (open, (str(self.file), "w"))


def test_nothing_in_a_file_is_executed(tmp_path):
    """A file that would call something is refused, and calls nothing."""
    path, made = tmp_path / "params.pkl", tmp_path / "made"
    path.write_bytes(pickle.dumps(({"mean": np.zeros(4)}, Call(made))))

    with pytest.raises(UnreadableError, match="cannot be replayed"):
        read_policy(str(path))

    assert not made.exists()


def test_a_kernel_stored_by_columns_is_not_taken_for_rows(tmp_path):
    """A transposed kernel lies in Fortran's order in a pickle: it would be another network."""
    tree = (
        {"mean": np.zeros(4, "f4"), "std": np.ones(4, "f4")},
        {
            "params": {
                "hidden_0": {"kernel": np.arange(16, dtype="f4").reshape(4, 4).T, "bias": np.zeros(4, "f4")}
            }
        },
        {},
    )
    path = tmp_path / "params.pkl"
    for protocol in (2, 5):
        path.write_bytes(pickle.dumps(tree, protocol))

        with pytest.raises(UnreadableError, match="stored in pieces, not row by row"):
            read_policy(str(path), "brax:ppo")
