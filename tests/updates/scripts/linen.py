"""A plain loop over a TrainState, whose environment step is jitted first."""

import sys

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState

print("printed to stdout", sys.argv[1:])


@jax.jit
def env_step(state, action):
    return {"q": state["q"] + action, "t": state["t"] + 1}, -jnp.sum(state["q"] ** 2)


env = {"q": jnp.zeros(3), "t": jnp.int32(0)}
for _ in range(5):
    env, reward = env_step(env, jnp.ones(3))

model = nn.Dense(4)
state = TrainState.create(
    apply_fn=model.apply, params=model.init(jax.random.key(0), jnp.zeros((1, 8))), tx=optax.adamw(1e-3)
)


@jax.jit
def train_step(state, batch):
    loss, gradients = jax.value_and_grad(lambda params: jnp.mean(state.apply_fn(params, batch) ** 2))(
        state.params
    )
    return state.apply_gradients(grads=gradients), loss


updates = int(sys.argv[sys.argv.index("--updates") + 1]) if "--updates" in sys.argv else 1_000_000
for _ in range(updates):
    state, loss = train_step(state, jnp.ones((16, 8)))
    print(float(loss))
