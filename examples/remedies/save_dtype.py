"""Casting a whole training state to bfloat16 for a file ruins Adam's second moments, silently."""

import jax
import jax.numpy as jnp
import optax

from jaxdoctor.remedies import save_dtype

weights = jax.random.normal(jax.random.key(0), (256,))
state = {"params": {"w": weights}, "opt_state": optax.adam(1e-3).init({"w": weights})}

moment = jnp.asarray(1.0, jnp.bfloat16)
print("a second moment in bfloat16 after 1000 small gradients:", moment * jnp.bfloat16(0.999) ** 1000)
try:
    save_dtype(state, "bfloat16")
except ValueError as error:
    print("refused:", error)
saved = save_dtype(state, {"params/*": "bfloat16"})
print("params lose at most:", f"{saved.worst.max_relative_error:.4f}", "of a value")
