"""In the style of PureJaxRL's DQN: a replay buffer, a target network, learning behind a condition."""

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState

CAPACITY = 1000


class CustomTrainState(TrainState):
    target: flax.core.FrozenDict
    timesteps: int
    n_updates: int


def train(rng):
    network = nn.Dense(2)
    params = network.init(rng, jnp.zeros((1, 3)))
    train_state = CustomTrainState.create(
        apply_fn=network.apply, params=params, target=params, tx=optax.adam(1e-3), timesteps=0, n_updates=0
    )
    buffer = {"obs": jnp.zeros((CAPACITY, 3)), "pos": jnp.int32(0), "size": jnp.int32(0)}

    def _update_step(runner_state, _):
        train_state, buffer, obs, rng = runner_state
        rng, key = jax.random.split(rng)
        action = jnp.argmax(network.apply(train_state.params, obs))
        obs = obs * 0.9 + action
        buffer = {
            "obs": buffer["obs"].at[buffer["pos"]].set(obs),
            "pos": (buffer["pos"] + 1) % CAPACITY,
            "size": jnp.minimum(buffer["size"] + 1, CAPACITY),
        }
        train_state = train_state.replace(timesteps=train_state.timesteps + 16)

        def learn(train_state):
            batch = buffer["obs"][jax.random.randint(key, (8,), 0, 100)]
            gradients = jax.grad(lambda p: jnp.mean(network.apply(p, batch) ** 2))(train_state.params)
            return train_state.apply_gradients(grads=gradients).replace(n_updates=train_state.n_updates + 1)

        is_time = (train_state.timesteps > 100) & (train_state.timesteps % 4 == 0)
        train_state = jax.lax.cond(is_time, learn, lambda train_state: train_state, train_state)
        update_target = train_state.timesteps % 500 == 0
        target = jax.tree.map(
            lambda new, old: jnp.where(update_target, new, old), train_state.params, train_state.target
        )
        return (train_state.replace(target=target), buffer, obs, rng), {"loss": action}

    return jax.lax.scan(_update_step, (train_state, buffer, jnp.zeros(3), rng), None, 10**8)


out = jax.jit(train)(jax.random.PRNGKey(0))
