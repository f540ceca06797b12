"""Gradients in float16: with and without what keeps them finite."""

import jax
import jax.numpy as jnp
import optax
import pytest
from flax.training.dynamic_scale import DynamicScale

from jaxdoctor.updates.trace.run import sign
from jaxdoctor.updates.trace.target import Traced

ADAM = optax.adam(1e-3)


def loss(params, x):
    return jnp.mean((x @ params["w"].astype(x.dtype)) ** 2)


def bare(params, x, _):
    return jax.grad(loss)(params, x)


def static_scale(params, x, _):
    return jax.tree.map(lambda g: g / 1024, jax.grad(lambda p: loss(p, x) * 1024)(params))


def carried_scale(params, x, scale):
    return jax.grad(lambda p: loss(p, x) * scale.astype(x.dtype))(params)


def signed(gradients, dtype, *, params_dtype="float32", transform=ADAM):
    params = {"w": jnp.ones((4, 4), params_dtype)}
    state = {"params": params, "opt": transform.init(params), "scale": jnp.float32(1024)}

    def update(state, x):
        taken = gradients(state["params"], x, state["scale"])
        updates, opt_state = transform.update(taken, state["opt"], state["params"])
        return {**state, "params": optax.apply_updates(state["params"], updates), "opt": opt_state}

    return sign(lambda: Traced(update=update, state=state, args=(jnp.ones((8, 4), dtype),)), "x")


@pytest.mark.parametrize("params_dtype", ["float32", "float16"])
def test_float16_gradients_without_a_scale_are_named_with_their_line(params_dtype):
    signature = signed(bare, "float16", params_dtype=params_dtype)

    assert signature.takes_gradient
    assert signature.unscaled_half.source == 'return jnp.mean((x @ params["w"].astype(x.dtype)) ** 2)'


@pytest.mark.parametrize(
    ("gradients", "dtype", "transform"),
    [
        (bare, "bfloat16", ADAM),
        (bare, "float32", ADAM),
        (static_scale, "float16", ADAM),
        (carried_scale, "float16", ADAM),
        (bare, "float16", optax.apply_if_finite(ADAM, 5)),
    ],
)
def test_a_wider_range_a_scale_and_a_test_for_finite_values_are_healthy(gradients, dtype, transform):
    assert signed(gradients, dtype, transform=transform).unscaled_half is None


def test_flax_s_dynamic_scale_is_healthy():
    params = {"w": jnp.ones((4, 4))}

    def update(state, x):
        scale, finite, _, gradients = state["scale"].value_and_grad(lambda p: loss(p, x))(state["params"])
        updates, opt_state = ADAM.update(gradients, state["opt"], state["params"])
        after = optax.apply_updates(state["params"], updates)
        kept = jax.tree.map(lambda new, old: jnp.where(finite, new, old), after, state["params"])
        return {"params": kept, "opt": opt_state, "scale": scale}

    state = {"params": params, "opt": ADAM.init(params), "scale": DynamicScale()}
    signature = sign(lambda: Traced(update=update, state=state, args=(jnp.ones((8, 4), "float16"),)), "x")

    assert signature.unscaled_half is None


def test_an_update_without_a_gradient_takes_none():
    half = {"w": jnp.ones(3, "float16")}

    signature = sign(lambda: Traced(update=lambda s: {"w": s["w"] * 2}, state=half), "x")

    assert not signature.takes_gradient
    assert signature.unscaled_half is None
