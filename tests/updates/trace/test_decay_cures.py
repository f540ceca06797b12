"""Cures of decays that half precision holds as 1: what is offered keeps the average moving."""

import jax
import jax.numpy as jnp
import optax
import pytest

from jaxdoctor.updates.trace.run import sign
from jaxdoctor.updates.trace.target import Traced

HALF = jnp.bfloat16


def lost(update, state, *args):
    (found,) = sign(lambda: Traced(update=update, state=state, args=args), "x").lost_decays
    return found


def of_optimizer(optimizer):
    """A step on bfloat16 parameters, and its state."""

    def update(state, gradients):
        updates, moments = optimizer.update(gradients, state["opt"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "opt": moments}

    return update


def test_injected_hyperparameters_in_float32_with_float32_moments_are_offered_and_finite():
    """As told: https://github.com/google-deepmind/optax/issues/1414."""
    params = {"w": jnp.ones(8, HALF)}
    ill = optax.inject_hyperparams(optax.adamw)(learning_rate=1e-3)
    found = lost(of_optimizer(ill), {"params": params, "opt": ill.init(params)}, params)

    assert "hyperparam_dtype=jnp.float32" in found.fix
    assert "optimizer.init(jax.tree.map(lambda p: p.astype(jnp.float32), params))" in found.fix
    assert found.fix.endswith("(tried: opt/hyperparams/b2 is float32, and it settles at once)")

    cured = optax.inject_hyperparams(optax.adamw, hyperparam_dtype=jnp.float32)(learning_rate=1e-3)
    state = {"params": params, "opt": cured.init(jax.tree.map(lambda p: p.astype(jnp.float32), params))}
    step = jax.jit(of_optimizer(cured))
    for _ in range(20):
        state = step(state, params)
    assert jnp.isfinite(state["params"]["w"]).all()
    assert float(optax.tree.get(state["opt"], "nu")["w"][0]) == pytest.approx(1 - 0.999**20, rel=1e-3)
    assert step._cache_size() == 1


def test_a_decay_of_one_s_own_is_made_wide_with_its_average():
    def update(state, x):
        b = state["b"]
        return {"b": b, "m": b * state["m"] + (1 - b) * x}

    found = lost(update, {"b": HALF(0.999), "m": jnp.zeros(4, HALF)}, jnp.ones(4, HALF))

    assert found.fix == ("make b and m with dtype=jnp.float32 (tried: b is float32, and it settles at once)")
    wide = Traced(
        update=update,
        state={"b": jnp.float32(0.999), "m": jnp.zeros(4)},
        args=(jnp.ones(4, HALF),),
    )
    assert sign(lambda: wide, "x").lost_decays == ()


def test_what_casts_the_decay_back_in_the_update_has_no_cure_in_the_state():
    def update(state, x):
        b = state["b"].astype(HALF)
        return {"b": b, "m": b * state["m"] + (1 - b) * x}

    assert lost(update, {"b": HALF(0.999), "m": jnp.zeros(4, HALF)}, jnp.ones(4, HALF)).fix is None
