"""The policy that other tests replay."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdoctor.rollouts.policy import load_policy
from tests.rollouts.trained_policy import trained_policy


@pytest.mark.slow
def test_it_has_learnt_and_loads():
    """Training multiplies its return, and both of Brax's forms of it give the same actions."""
    trained = trained_policy()

    policies = [load_policy(str(path), None, 4, 1, seed=0) for path in (trained.checkpoint, trained.params)]
    actions = [
        policy.apply(policy.parameters, jnp.asarray([0.1, 0.05, -0.2, 0.3]), jax.random.key(0)).action
        for policy in policies
    ]

    assert trained.trained_return > 2 * trained.untrained_return
    assert np.array_equal(*actions)
