"""Static values that change, against the compiles that Equinox and JAX really make."""

import equinox as eqx
import flax.struct
import jax
import jax.numpy as jnp
import pytest

from jaxdoctor.updates.trace.run import sign
from jaxdoctor.updates.trace.statics import of_shapes
from jaxdoctor.updates.trace.target import Traced


class Counting(eqx.Module):
    x: jax.Array
    n: int


class StaticField(eqx.Module):
    x: jax.Array
    n: int = eqx.field(static=True)


@flax.struct.dataclass
class FlaxStatic:
    x: jax.Array
    n: int = flax.struct.field(pytree_node=False)


def update(state):
    return type(state)(state.x * 0.9 + state.n, state.n + 1)


def signed(update, state):
    return sign(lambda: Traced(update=update, state=state), "x")


def traces(update, state, calls=4):
    """How often a jitted call really traces."""
    traced = 0

    def counting(state):
        nonlocal traced
        traced += 1
        return update(state)

    jitted = eqx.filter_jit(counting)
    for _ in range(calls):
        state = jitted(state)
    return traced


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        (Counting(jnp.ones(3), 0), "n is a Python int: it is static under eqx.filter_jit"),
        (StaticField(jnp.ones(3), 0), "the static field StaticField.n changes from 0 to 1"),
        (FlaxStatic(jnp.ones(3), 0), "the static field FlaxStatic.n changes from 0 to 1"),
    ],
)
def test_what_compiles_at_every_call_is_named(state, cause):
    assert traces(update, state) == 4

    (found,) = signed(eqx.filter_jit(update), state).recompiles

    assert found.cause.startswith(cause)
    assert found.certain


def test_the_cure_of_a_python_number_is_tried():
    (found,) = signed(update, Counting(jnp.ones(3), 0)).recompiles

    assert not found.certain
    assert found.fix == "make it jnp.int32(0) (tried: settles at once)"
    assert traces(update, Counting(jnp.ones(3), jnp.int32(0))) == 1


@pytest.mark.parametrize(
    ("update", "state"),
    [
        (update, Counting(jnp.ones(3), jnp.int32(0))),
        (eqx.filter_jit(lambda state: Counting(state.x * 2, state.n)), Counting(jnp.ones(3), 7)),
        (lambda state: {"step": state["step"] + 1}, {"step": 0}),
    ],
    ids=["array", "unchanged", "a dictionary under jax.jit"],
)
def test_numbers_that_cost_no_compile_are_healthy(update, state):
    assert not signed(update, state).recompiles


def test_data_of_another_shape_are_named_with_the_call():
    shapes = [("float32[16,4]", "int32[16]")] * 3 + [("float32[7,4]", "int32[7]")]

    (found,) = of_shapes(shapes, ("x", "y"), (True, False, False, True))

    assert found.cause == "call 4 has x as float32[7,4], call 1 as float32[16,4]: XLA compiled there"
    assert not list(of_shapes(shapes[:3], ("x", "y"), (True, False, False)))
