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


@pytest.mark.parametrize("jit", [lambda function: function, jax.jit, eqx.filter_jit])
@pytest.mark.parametrize("kind", [StaticField, FlaxStatic])
def test_the_cure_of_a_static_field_is_tried_below_its_jit(kind, jit):
    """A jitted function takes no array for a static field; the user would make the field another."""
    (found,) = signed(jit(update), kind(jnp.ones(3), 3)).recompiles

    name = f"{kind.__name__}.n"
    assert (
        found.fix
        == f"make {name} an array, jnp.int32(3), in a field that is not static (tried: settles at once)"
    )


def test_a_static_field_that_python_branches_on_has_no_cure():
    def branching(state):
        return type(state)(state.x * (2 if state.n > 3 else 1), state.n + 1)

    (found,) = signed(branching, StaticField(jnp.ones(3), 0)).recompiles

    assert found.fix is None


@jax.tree_util.register_pytree_node_class
class Named:
    """A class that JAX flattens by methods: what it keeps beside its children has no names."""

    def __init__(self, x, n):
        self.x, self.n = x, n

    def tree_flatten(self):
        return (self.x,), (self.n,)

    @classmethod
    def tree_unflatten(cls, kept, children):
        return cls(*children, *kept)


def test_what_a_class_keeps_beside_its_children_is_named():
    (found,) = signed(update, Named(jnp.ones(3), 0)).recompiles

    assert found.cause == "the static part of Named changes from (0,) to (1,): every call compiles anew"


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
