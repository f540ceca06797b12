"""Python's numbers in Equinox's modules."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from jaxdoctor.updates.trace.run import sign
from jaxdoctor.updates.trace.target import Traced


class Network(eqx.Module):
    linear: eqx.nn.Linear
    dropout: eqx.nn.Dropout
    rows: int = 2

    def __call__(self, x, key):
        return self.dropout(self.linear(x).reshape(self.rows, -1), key=key)


def update(model, key):
    loss, gradients = eqx.filter_value_and_grad(lambda m: jnp.mean(m(jnp.ones(3), key) ** 2))(model)
    return eqx.apply_updates(model, jax.tree.map(lambda leaf: -0.1 * leaf, gradients)), loss


@pytest.mark.parametrize("jit", [eqx.filter_jit, lambda function: function])
def test_a_flag_among_the_leaves_is_read_by_python(jit):
    network = eqx.tree_at(
        lambda n: n.rows, Network(eqx.nn.Linear(3, 4, key=jax.random.key(0)), eqx.nn.Dropout(0.1)), 2
    )
    if jit is not eqx.filter_jit:
        network = network.dropout

        def step(dropout, key):
            return dropout, dropout(jnp.ones(3), key=key)

    else:
        step = jit(update)

    signature = sign(lambda: Traced(update=step, state=network, args=(jax.random.key(1),)), "x")

    assert (signature.verdict, signature.rounds, signature.recompiles) == ("stable", 0, ())
