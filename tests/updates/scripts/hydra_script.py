"""Hydra's main around a pmapped step."""

import functools

import hydra
import jax
import jax.numpy as jnp
import optax


@hydra.main(version_base=None, config_path=None)
def main(config):
    optimizer = optax.adam(config.rate)

    @functools.partial(jax.pmap, axis_name="devices")
    def step(params, opt_state, x):
        gradients = jax.lax.pmean(jax.grad(lambda params: jnp.sum(params["w"] * x))(params), "devices")
        updates, opt_state = optimizer.update(gradients, opt_state)
        return optax.apply_updates(params, updates), opt_state

    params = {"w": jnp.ones(3)}
    params, opt_state = jax.tree.map(lambda leaf: jnp.stack([leaf]), (params, optimizer.init(params)))
    for _ in range(1_000_000):
        params, opt_state = step(params, opt_state, jnp.ones((1, 3)))


if __name__ == "__main__":
    main()
