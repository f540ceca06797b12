"""What products cost, against counts done by hand."""

import jax
import jax.numpy as jnp
import pytest

from jaxdoctor.programs.costs import Costs

A, B = jnp.ones((4, 8)), jnp.ones((8, 16))


def cost(function, *args):
    """All operations of a function's products."""
    return sum(Costs(lambda _: "all").of(jax.make_jaxpr(function)(*args).jaxpr).values())


ONE = 2 * 4 * 8 * 16


@pytest.mark.parametrize(
    ("function", "args", "flops"),
    [
        (lambda a, b: a @ b, (A, B), ONE),
        (jax.vmap(lambda a, b: a @ b), (jnp.ones((3, 4, 8)), jnp.ones((3, 8, 16))), 3 * ONE),
        (lambda a, b: jax.lax.scan(lambda c, _: (c, a @ b), 0.0, None, length=5)[1], (A, B), 5 * ONE),
        (jax.jit(lambda a, b: jax.jit(lambda: a @ b)() + a @ b), (A, B), 2 * ONE),
        (lambda a, b: jax.lax.cond(a.sum() > 0, lambda: a @ b, lambda: (a @ b) @ (b.T @ b)), (A, B), None),
        (lambda a, b: a + b.T[:4, :8], (A, B), 0),
    ],
)
def test_products_are_counted_as_often_as_they_run(function, args, flops):
    """Of a choice the dearest branch counts."""
    dearest = ONE + 2 * 16 * 8 * 16 + 2 * 4 * 16 * 16
    assert cost(function, *args) == (dearest if flops is None else flops)


def test_a_convolution():
    """One by one, each output pixel of each of 5 channels meets 3 x 3 x 2 numbers."""
    image, kernel = jnp.ones((1, 2, 7, 7)), jnp.ones((5, 2, 3, 3))

    assert cost(lambda x, k: jax.lax.conv(x, k, (1, 1), "SAME"), image, kernel) == 2 * 49 * 5 * 9 * 2
