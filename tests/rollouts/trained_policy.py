"""A tiny policy, really trained: an evolution strategy on Brax's own network, saved by Brax's own functions.

Brax 0.14.2's trainers do not start on jax 0.10 and later (`jax.device_put_replicated` is gone); its networks,
its normaliser and its savers do. An untrained pendulum falls within ten of sixty steps, a trained one later.
"""

import functools
import hashlib
import json
import shutil
import warnings
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from tests.paths import ROOT

ENVIRONMENT = "inverted_pendulum"
BACKEND = "generalized"
STEPS = 60
PAIRS = 32
GENERATIONS = 20
SPREAD, RATE = 0.1, 0.3
STEP = 100_000
HIDDEN = (8, 8)


@dataclass(frozen=True)
class Trained:
    """Where it was saved, and what it learnt."""

    checkpoint: Path
    """The step's folder, with the network's configuration."""

    params: Path
    """The file of `save_params`."""

    untrained_return: float
    trained_return: float


@functools.cache
def trained_policy():
    """The policy, trained once for each version of what it is made with."""
    made_with = [Path(__file__).read_text(), *map(version, ("brax", "jax", "flax", "orbax-checkpoint"))]
    key = hashlib.sha256("\n".join(made_with).encode()).hexdigest()[:16]
    folder = ROOT / ".pytest_cache" / "trained-policy" / key
    if not (folder / "returns.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            returns = _train(folder)
        (folder / "returns.json").write_text(json.dumps(returns))
    before, after = json.loads((folder / "returns.json").read_text())
    return Trained(folder / f"{STEP:012d}", folder / "params.pkl", before, after)


def brax_network(observation_size, action_size, **options):
    """Brax's PPO networks of this size, with what makes them."""
    from brax.training.agents.ppo import networks

    factory = functools.partial(
        networks.make_ppo_networks,
        policy_hidden_layer_sizes=HIDDEN,
        value_hidden_layer_sizes=HIDDEN,
        **options,
    )
    return factory, factory(observation_size, action_size, preprocess_observations_fn=_normalise())


def _normalise():
    from brax.training.acme import running_statistics

    return running_statistics.normalize


def save(folder, params, factory, observation_size, action_size, *, step=STEP, normalises=True):
    """Saves (normaliser, policy, value) as Brax's PPO does, as a checkpoint and as a file."""
    from brax.io import model
    from brax.training.agents.ppo import checkpoint

    config = checkpoint.network_config(observation_size, action_size, normalises, factory)
    checkpoint.save(folder, step, params, config)
    model.save_params(folder / "params.pkl", params)


def _train(folder):
    from brax import envs
    from brax.training.acme import running_statistics, specs
    from brax.training.agents.ppo import networks

    environment = envs.get_environment(ENVIRONMENT, backend=BACKEND)
    size = environment.observation_size
    factory, network = brax_network(size, environment.action_size)
    normaliser = running_statistics.init_state(specs.Array((size,), jnp.dtype("float32")))
    policy, value = (
        network.policy_network.init(jax.random.key(0)),
        network.value_network.init(jax.random.key(1)),
    )
    flat, unflatten = ravel_pytree(policy)
    make = networks.make_inference_fn(network)

    def play(weights, normaliser, key):
        """The return of one episode and its observations; nothing counts after the pendulum fell."""
        act = make((normaliser, unflatten(weights)), deterministic=True)

        def step(carried, _):
            state, standing = carried
            state = environment.step(state, act(state.obs, key)[0])
            standing = standing * (1 - state.done)
            # Left to itself after its fall it spins faster and faster, until it is NaN.
            state = jax.tree.map(lambda reset, new: jnp.where(state.done, reset, new), start, state)
            return (state, standing), (state.reward * standing, state.obs)

        start = environment.reset(key)
        _, (rewards, observations) = jax.lax.scan(step, (start, 1.0), length=STEPS)
        return rewards.sum(), observations

    @jax.jit
    def generation(flat, normaliser, key, spread):
        """One step of evolution, by the ranks of mirrored disturbances."""
        noise = jax.random.normal(key, (PAIRS, flat.size))
        tried = flat + spread * jnp.concatenate([noise, -noise])
        keys = jnp.tile(jax.random.split(key, PAIRS), 2)
        returns, observations = jax.vmap(play, (0, None, 0))(tried, normaliser, keys)
        ranks = jnp.argsort(jnp.argsort(returns)) / (2 * PAIRS - 1) - 0.5
        gradient = (ranks[:PAIRS] - ranks[PAIRS:]) @ noise / PAIRS
        normaliser = running_statistics.update(normaliser, observations.reshape(-1, size))
        return flat + RATE * gradient, normaliser, returns.mean()

    def tested(key):
        """The mean return of the policy itself."""
        return float(generation(flat, normaliser, key, 0.0)[2])

    first, last, *keys = jax.random.split(jax.random.key(2), 2 + GENERATIONS)
    before = tested(first)
    for key in keys:
        flat, normaliser, _ = generation(flat, normaliser, key, SPREAD)
    after = tested(last)
    params = (normaliser, unflatten(flat), value)
    save(folder, jax.tree.map(np.asarray, params), factory, size, environment.action_size)
    return before, after
