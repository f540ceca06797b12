"""Equinox: a model with functions among its leaves, under filter_jit, the loss first in what is returned."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

model = eqx.nn.MLP(8, 4, 16, 2, key=jax.random.key(0))
optimizer = optax.adam(1e-3)
opt_state = optimizer.init(eqx.filter(model, eqx.is_array))


@eqx.filter_jit
def make_step(model, opt_state, x):
    loss, gradients = eqx.filter_value_and_grad(lambda model, x: jnp.mean(jax.vmap(model)(x) ** 2))(model, x)
    updates, opt_state = optimizer.update(gradients, opt_state, model)
    return loss, eqx.apply_updates(model, updates), opt_state


for _ in range(1_000_000):
    loss, model, opt_state = make_step(model, opt_state, jnp.ones((2, 8)))
