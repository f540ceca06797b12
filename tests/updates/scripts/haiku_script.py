"""Haiku, with a last batch that is smaller."""

import haiku as hk
import jax
import jax.numpy as jnp
import optax


def forward(x):
    return hk.nets.MLP([8, 1])(x)


network = hk.without_apply_rng(hk.transform(forward))
optimizer = optax.adamw(1e-3)
params = network.init(jax.random.PRNGKey(0), jnp.ones((1, 4)))
opt_state = optimizer.init(params)


@jax.jit
def update(params, opt_state, batch):
    gradients = jax.grad(lambda params: jnp.mean(network.apply(params, batch) ** 2))(params)
    updates, opt_state = optimizer.update(gradients, opt_state, params)
    return optax.apply_updates(params, updates), opt_state


for size in (16, 16, 16, 7, 16):
    params, opt_state = update(params, opt_state, jnp.ones((size, 4)))
