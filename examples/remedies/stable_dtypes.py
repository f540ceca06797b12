"""A transformation whose state drifts cannot be scanned; wrapped in stable_dtypes, it can."""

import warnings

import jax
import jax.numpy as jnp
import optax

from jaxdoctor.remedies import stable_dtypes

params = {"w": jnp.ones((8, 4), jnp.bfloat16)}
drifts = optax.scale_by_distance_over_gradients()


def train(transform):
    """Three updates in one program."""

    def step(state, _):
        return transform.update(params, state, params)[1], None

    state, _ = jax.lax.scan(step, transform.init(params), None, length=3)
    return state


try:
    train(drifts)
except TypeError as error:
    print("alone:", str(error).splitlines()[0])
with warnings.catch_warnings(record=True) as stated:
    warnings.simplefilter("always")
    kept = train(stable_dtypes(drifts))
print("said:", str(stated[0].message).partition(",")[0])
pairs = zip(jax.tree.leaves(kept), jax.tree.leaves(drifts.init(params)), strict=True)
same = [after.dtype == before.dtype for after, before in pairs]
print("wrapped:", sum(same), "of", len(same), "leaves have the dtype they began with")
