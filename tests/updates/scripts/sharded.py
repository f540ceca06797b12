"""A step over a mesh: shard_map under pjit, with a scan that is called outside of any jit before it."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.experimental.pjit import pjit
from jax.sharding import Mesh, PartitionSpec

mesh = Mesh(np.array(jax.devices()), ("rows",))
optimizer = optax.sgd(0.1, momentum=0.9)
params = {"w": jnp.ones(4)}
opt_state = optimizer.init(params)
warm, _ = jax.lax.scan(
    lambda carry, _: ({"a": carry["a"] + 1, "b": carry["b"]}, None), {"a": 0, "b": 0}, None, 3
)


@functools.partial(pjit, donate_argnums=(0, 1))
def step(params, opt_state, x):
    @functools.partial(
        jax.shard_map, mesh=mesh, in_specs=(PartitionSpec(), PartitionSpec("rows")), out_specs=PartitionSpec()
    )
    def gradients(params, x):
        return jax.lax.pmean(jax.grad(lambda params: jnp.sum(params["w"] * x))(params), "rows")

    updates, opt_state = optimizer.update(gradients(params, x), opt_state)
    return optax.apply_updates(params, updates), opt_state


for _ in range(1_000_000):
    params, opt_state = step(params, opt_state, jnp.ones((8, 4)))
