"""The setting around the calls of functions: which hold a product, seen in the program traced with it."""

import sys

import jax
import jax.numpy as jnp
import pytest

from jaxdoctor.programs.around_calls import around_calls

X = jnp.linspace(0.0, 1.0, 64).reshape(8, 8)
HERE = sys.modules[__name__]


def first(x):
    return x @ x


def second(x):
    return x @ x


def wide(x):
    return second(x) + (x + 1) @ x


def nested(x):
    return jax.lax.map(lambda y: y @ y, x[None])[0]


def exact(x):
    return jnp.matmul(x, x, precision="high")


class Policy:
    def head(self, x):
        return x @ x


@jax.jit
def jitted(x):
    return first(x) + 1


def step(x):
    return first(x) + wide(x) + nested(x) + exact(x) + Policy().head(x) + first(x + 1)


def line(function, name=None):
    return f"test_around_calls.py:{function.__code__.co_firstlineno + 1} ({name or function.__name__})"


def reached(*guilty, function=step):
    return around_calls(jax.vmap(function), frozenset(guilty), jnp.stack([X, X]))


def names(found):
    return [callee.name for callee in found.callees]


def test_the_function_that_holds_only_the_guilty_product_is_found():
    """Both of its calls are raised, two of seven products, and what was changed to see it is as it was."""
    before = HERE.first

    found = reached(line(first))

    assert names(found) == ["first"]
    assert found.raised == {line(first)}
    assert found.share == pytest.approx(2 / 7)
    assert HERE.first is before


def test_a_method_is_found_in_its_class():
    assert names(reached(line(Policy.head))) == ["Policy.head"]


def test_a_function_without_a_name_is_raised_with_the_one_around_it():
    assert names(reached(line(nested, "<lambda>"))) == ["nested"]


def test_what_else_is_raised_is_said():
    """The second product of `wide` stands in no function of its own."""
    product = f"test_around_calls.py:{wide.__code__.co_firstlineno + 1} (wide)"

    found = reached(product)

    assert names(found) == ["wide"]
    assert found.raised == {product, line(second)}


def test_two_guilty_products_have_a_function_each():
    found = reached(line(first), line(second))

    assert set(names(found)) == {"first", "second"}
    assert found.raised == {line(first), line(second)}


def test_no_setting_reaches_a_product_with_a_precision_of_its_own():
    assert reached(line(exact)) is None


def test_a_jitted_function_is_traced_anew_with_the_setting():
    """JAX keeps the program of a jitted function, which was traced without it."""
    assert names(reached(line(first), function=jitted)) == ["first"]


def test_what_no_module_holds_has_no_such_cure():
    def inner(x):
        return x @ x

    assert reached(line(inner), function=lambda x: inner(x) + first(x)) is None
