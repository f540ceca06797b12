"""Policies saved by Brax's own functions, beside Brax's own inference function."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

STEP = 3_000


@dataclass(frozen=True)
class Saved:
    """One policy in both of Brax's forms."""

    checkpoint: Path
    params: Path
    acts: Any
    """`acts(observation, key, deterministic)`: what Brax itself makes of it."""

    logits: Any
    """`logits(observation)`."""

    arrays: Any
    """(normaliser, policy) as they were saved."""


def saved_by_brax(folder, *, agent="ppo", size=4, actions=2, normalises=True, fill=None, **options):
    """Saves an untrained policy with random statistics and biases.

    Args:
        folder: where.
        agent: "ppo" or "sac".
        size: numbers of an observation, or a dictionary of shapes.
        actions: how many.
        normalises: whether observations are normalised.
        fill: changes (normaliser, policy) before they are saved.
        **options: of Brax's maker of networks.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _saved(folder, agent, size, actions, normalises, fill or (lambda pair: pair), options)


def _saved(folder, agent, size, actions, normalises, fill, options):
    import functools
    import importlib

    from brax.io import model
    from brax.training.acme import running_statistics

    networks = importlib.import_module(f"brax.training.agents.{agent}.networks")
    checkpoint = importlib.import_module(f"brax.training.agents.{agent}.checkpoint")
    factory = functools.partial(getattr(networks, f"make_{agent}_networks"), **options)
    normalise = running_statistics.normalize if normalises else (lambda values, _: values)
    network = factory(size, actions, preprocess_observations_fn=normalise)
    generator = np.random.default_rng(7)

    def varied(leaf):
        return jnp.asarray(leaf + 0.3 * generator.standard_normal(np.shape(leaf)), jnp.float32)

    shape = jax.tree.map(np.zeros, size, is_leaf=lambda node: isinstance(node, tuple | int))
    normaliser = running_statistics.init_state(shape)
    normaliser = normaliser.replace(
        mean=jax.tree.map(varied, normaliser.mean),
        std=jax.tree.map(lambda leaf: jnp.abs(varied(leaf)) + 0.1, normaliser.std),
    )
    policy = jax.tree.map(varied, network.policy_network.init(jax.random.key(1)))
    normaliser, policy = fill((normaliser, policy))
    third = [network.value_network.init(jax.random.key(2))] if agent == "ppo" else []
    config = checkpoint.network_config(size, actions, normalises, factory)
    checkpoint.save(folder, STEP, (normaliser, policy, *third), config)
    model.save_params(folder / "params.pkl", (normaliser, policy, *third))
    make = networks.make_inference_fn(network)

    def acts(observation, key, deterministic):
        return make((normaliser, policy), deterministic=deterministic)(observation, key)[0]

    def logits(observation):
        return network.policy_network.apply(normaliser, policy, observation)

    return Saved(folder / f"{STEP:012d}", folder / "params.pkl", acts, logits, (normaliser, policy))
