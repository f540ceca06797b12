"""Decays that half precision holds as 1, and factors of 1 that were meant."""

import jax.numpy as jnp
import optax
import pytest

from jaxdoctor.updates.trace.run import sign
from jaxdoctor.updates.trace.target import Traced

HALF = jnp.bfloat16


def lost(make, *args):
    def made():
        update, state = make()
        return Traced(update=update, state=state, args=args)

    return sign(made, "x").lost_decays


def average(decay, dtype, *, moment=HALF):
    """A running average whose decay is a leaf of the state."""

    def update(state, x):
        b = state["b"]
        return {"b": b, "m": (b * state["m"] + (1 - b) * x).astype(moment)}

    return update, {"b": jnp.asarray(decay, dtype), "m": jnp.zeros(4, moment)}


def averaged(decay, dtype):
    return lost(lambda: average(decay, dtype), jnp.ones(4, HALF))


@pytest.mark.parametrize(("decay", "dtype"), [(0.999, jnp.bfloat16), (0.9999, jnp.float16)])
def test_a_decay_of_the_state_that_is_1_freezes_its_average(decay, dtype):
    update, state = average(decay, dtype, moment=dtype)
    (found,) = lost(lambda: average(decay, dtype, moment=dtype), jnp.ones(4, dtype))

    assert (found.leaves, found.factor, found.number, found.still) == (("m",), "b", 1.0, True)
    assert found.site.source == 'return {"b": b, "m": (b * state["m"] + (1 - b) * x).astype(moment)}'
    for _ in range(20):
        state = update(state, jnp.ones(4, dtype))
    assert float(state["m"].max()) == 0.0


@pytest.mark.parametrize(
    ("decay", "dtype"),
    [(0.9, HALF), (0.99, HALF), (0.999, jnp.float16), (0.999, jnp.float32), (1.0, jnp.float32)],
)
def test_a_decay_that_its_dtype_holds_and_a_1_that_was_meant_are_healthy(decay, dtype):
    assert not averaged(decay, dtype)


def test_injected_hyperparameters_of_half_parameters_are_found_and_those_in_float32_are_healthy():
    """https://github.com/google-deepmind/optax/issues/1414."""

    def make(**more):
        transform = optax.inject_hyperparams(optax.adamw, **more)(learning_rate=1e-3)
        params = {"w": jnp.ones(8, HALF), "b": jnp.ones(2, HALF)}

        def update(state, gradients):
            updates, new = transform.update(gradients, state[1], state[0])
            return optax.apply_updates(state[0], updates), new

        return update, (params, transform.init(params))

    gradients = {"w": jnp.ones(8, HALF), "b": jnp.ones(2, HALF)}
    (found,) = lost(make, gradients)

    assert found.factor == "1/hyperparams/b2"
    assert {leaf.rpartition("/")[2] for leaf in found.leaves} == {"w", "b"}
    assert all("/nu/" in leaf for leaf in found.leaves)
    assert not lost(lambda: make(hyperparam_dtype=jnp.float32), gradients)


def test_a_float32_decay_that_is_cast_is_known_to_have_been_less():
    def make():
        def update(state, x):
            return {"b": state["b"], "m": state["b"].astype(HALF) * state["m"] + x}

        return update, {"b": jnp.float32(0.999), "m": jnp.zeros(4, HALF)}

    (found,) = lost(make, jnp.ones(4, HALF))

    assert (round(found.number, 6), found.still) == (0.999, False)


def test_a_small_share_that_is_taken_from_1_in_half_precision_takes_nothing():
    def make(share, dtype=HALF):
        tau = jnp.asarray(share, dtype)
        return (lambda w, x: ((1 - tau) * w + tau * x).astype(HALF)), jnp.zeros(4, HALF)

    (found,) = lost(lambda: make(0.001), jnp.ones(4, HALF))

    assert (found.factor, found.still) == (None, False)
    assert found.number == pytest.approx(0.999, abs=1e-5)
    assert not lost(lambda: make(0.01), jnp.ones(4, HALF))
    assert not lost(lambda: make(0.001, jnp.float32), jnp.ones(4, HALF))
    assert not lost(lambda: make(0.0), jnp.ones(4, HALF))


def test_multipliers_of_1_are_healthy():
    """A rate, a loss scale and a discount that are 1, in half precision too."""

    def make():
        def update(state, gradients):
            scale = state["scale"]
            w = state["w"] * scale - state["rate"] * gradients
            return {"scale": scale, "rate": state["rate"], "w": w, "sum": HALF(1) * state["sum"] + w}

        ones = {"scale": jnp.ones((), HALF), "rate": jnp.ones((), HALF)}
        return update, {**ones, "w": jnp.zeros(4, HALF), "sum": jnp.zeros(4, HALF)}

    assert not lost(make, jnp.ones(4, HALF))


def test_a_decay_that_a_call_changes_is_not_taken_for_its_first_value():
    def make():
        def update(state, x):
            b = state["b"]
            return {"b": b * HALF(0.99), "m": b * state["m"] + (1 - b) * x}

        return update, {"b": jnp.ones((), HALF), "m": jnp.zeros(4, HALF)}

    assert not lost(make, jnp.ones(4, HALF))
