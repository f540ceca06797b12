"""A training script as it is, whose step is found by running it.

jaxdoctor check-update --run examples/update/script.py -- --steps 1000
"""

import argparse

import jax
import jax.numpy as jnp
import optax

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1_000_000)
options = parser.parse_args()

optimizer = optax.adam(3e-4)
params = {"w": jnp.zeros((128, 64), jnp.bfloat16), "b": jnp.zeros(64, jnp.bfloat16)}
opt_state = optimizer.init(params)


def loss(params, batch):
    """Of a model in bfloat16."""
    return jnp.mean((batch @ params["w"] + params["b"]) ** 2)


@jax.jit
def train_step(params, opt_state, average, batch):
    """Keeps a running average of the loss, which begins as an integer."""
    value, gradients = jax.value_and_grad(loss)(params, batch)
    updates, opt_state = optimizer.update(gradients, opt_state, params)
    average = {"loss": average["loss"] * 0.99 + value.astype(jnp.float32) * 0.01}
    return optax.apply_updates(params, updates), opt_state, average


average = {"loss": 0}
for _ in range(options.steps):
    params, opt_state, average = train_step(params, opt_state, average, jnp.ones((32, 128), jnp.bfloat16))
print("loss", float(average["loss"]))
