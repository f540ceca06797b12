"""A random policy: of the environment's size, and the same in every process."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdoctor.errors import UsageError
from jaxdoctor.programs.emulate import emulate
from jaxdoctor.rollouts.policy import Sizes, build_policy, load_policy, read_policy

KEY = jax.random.key(0)


def test_it_has_the_environments_size():
    """Twenty-seven numbers in, eight actions between -1 and 1 out, nothing normalised."""
    policy = load_policy(None, None, 27, 8, seed=3)

    act = policy.apply(policy.parameters, jnp.ones(27), KEY)

    assert (policy.observation_size, policy.action_size, policy.statistics) == (27, 8, None)
    assert policy.name == "a random policy (seed 3)"
    assert act.normalised.tolist() == [1] * 27
    assert act.output.shape == (16,)
    assert act.action.tolist() == jnp.tanh(act.output[:8]).tolist()


def test_the_seed_decides():
    """The same weights twice, others with another seed."""
    weights = [
        load_policy(None, None, 4, 1, seed=seed).parameters["network"]["hidden_0"]["kernel"]
        for seed in (0, 0, 1)
    ]

    assert np.array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])


def test_of_several_observations_it_reads_the_state():
    """As Playground's policies do; the privileged one is for the critic."""
    sizes = Sizes(observation={"privileged_state": (9,), "state": (4,)}, action=2)
    policy = build_policy(read_policy(None), sizes)

    act = policy.apply(policy.parameters, {"privileged_state": jnp.ones(9), "state": jnp.ones(4)}, KEY)

    assert policy.observation_key == "state"
    assert act.normalised.shape == (4,)
    assert act.action.shape == (2,)


def test_one_of_several_choices_is_an_integer():
    """For an environment with discrete actions it gives the likeliest, or draws one."""
    sizes = Sizes(observation=4, action=3, discrete=True)
    likeliest, drawn = (build_policy(read_policy(None), sizes, stochastic=draws) for draws in (False, True))

    act = likeliest.apply(likeliest.parameters, jnp.ones(4), KEY)
    keys = jax.random.split(KEY, 64)
    draws = jax.vmap(lambda key: drawn.apply(drawn.parameters, jnp.ones(4), key).action)(keys)

    assert act.action == np.argmax(act.output)
    assert act.action.dtype == jnp.int32
    assert set(draws.tolist()) == {0, 1, 2}


def test_a_network_without_weights_is_refused():
    """`--network` alone says nothing that can be replayed."""
    with pytest.raises(UsageError, match=r"train\.py:network has no weights"):
        read_policy(None, "train.py:network")


def test_its_products_are_named_by_their_layer():
    """However it is batched, so that each can be told from the others and from the physics."""
    policy = load_policy(None, None, 4, 1, seed=0)
    rows = jnp.ones((16, 4))

    program = emulate(
        lambda parameters: jax.vmap(policy.apply, (None, 0, None))(parameters, rows, KEY), policy.parameters
    )

    assert {site.place.partition(" ")[2] for site in program.sites} <= {
        f"(policy hidden_{layer})" for layer in range(5)
    }
    assert len(program.sites) > 1
