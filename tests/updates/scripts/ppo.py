"""In the style of PureJaxRL's PPO: all of the training in one jitted function, everything in closures."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState

CONFIG = {"UPDATES": 10**7, "STEPS": 5, "ENVS": 4}


def make_train(config):
    network = nn.Dense(1)

    def train(rng):
        params = network.init(rng, jnp.zeros((1, 3)))
        tx = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(1e-3, eps=1e-5))
        train_state = TrainState.create(apply_fn=network.apply, params=params, tx=tx)

        def _update_step(runner_state, _):
            def _env_step(carry, _):
                train_state, obs, returned, rng = carry
                rng, key = jax.random.split(rng)
                action = network.apply(train_state.params, obs) + jax.random.normal(key, (config["ENVS"], 1))
                done = action[:, 0] > 1
                obs, reward = obs + action, action[:, 0]
                # As LogWrapper counts, whose state begins at a Python 0.
                returned = (returned + reward) * (1 - done)
                return (train_state, obs, returned, rng), (obs, action)

            runner_state, traj = jax.lax.scan(_env_step, runner_state, None, config["STEPS"])
            train_state, obs, returned, rng = runner_state

            def loss(params):
                return jnp.mean((network.apply(params, traj[0]) - traj[1]) ** 2)

            train_state = train_state.apply_gradients(grads=jax.grad(loss)(train_state.params))
            return (train_state, obs, returned, rng), {"returned": returned}

        start = jnp.zeros((config["ENVS"], 3)), jnp.zeros(config["ENVS"])
        return jax.lax.scan(_update_step, (train_state, *start, rng), None, config["UPDATES"])

    return train


train_jit = jax.jit(jax.vmap(make_train(CONFIG)))
out = train_jit(jax.random.split(jax.random.PRNGKey(0), 2))
