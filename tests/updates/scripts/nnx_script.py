"""Flax NNX: modules that the step changes in place."""

import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)


@nnx.jit
def train_step(model, optimizer, x):
    gradients = nnx.grad(lambda model: jnp.mean(model(x) ** 2))(model)
    optimizer.update(model, gradients)


for _ in range(1_000_000):
    train_step(model, optimizer, jnp.ones((2, 3)))
