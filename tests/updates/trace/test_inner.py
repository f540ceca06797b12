"""Loops and conditions inside an update that JAX refuses: the line that promotes, and a cure that works."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax.lax import scan

from jaxdoctor.errors import NothingExaminedError
from jaxdoctor.rules.diagnose import diagnose
from jaxdoctor.updates.trace.run import sign
from jaxdoctor.updates.trace.target import Traced

HALF = jnp.ones(3, jnp.bfloat16)
TWO = jnp.float32(2)


def signed(update, state, *args):
    return sign(lambda: Traced(update=update, state=state, args=args), "x")


def by_layers(state, x):
    def layer(h, q):
        h = (h @ q["w"]) * q["scale"]  # promotes
        return h, None

    layers = {"w": jnp.ones((2, 3, 3), jnp.bfloat16), "scale": jnp.ones((2, 3))}
    h, _ = scan(layer, x, layers)
    return {"w": state["w"] + h}


def by_while(state, _):
    def body(carry):
        return carry * TWO  # promotes

    return {"w": jax.lax.while_loop(lambda carry: carry.sum() < 5, body, state["w"])}


def by_fori(state, x):
    def body(index, carry):
        h, n = carry
        h = h + x * TWO * index  # promotes
        return h, n + 1

    return {"w": jax.lax.fori_loop(0, 3, body, (state["w"], 0))[0]}


def by_cond(state, x):
    def step(w):
        return w * TWO  # promotes

    return {"w": jax.lax.cond(x.sum() > 0, step, lambda w: w, state["w"])}


def by_switch(state, _):
    branches = [lambda w: w, lambda w: w * TWO]  # promotes
    return {"w": jax.lax.switch(0, branches, state["w"])}


def by_select(state, x):
    other = jnp.zeros(3)
    return {"w": jax.lax.select(x > 0, state["w"], other)}  # promotes


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["plain", "jitted"])
@pytest.mark.parametrize("update", [by_layers, by_while, by_fori, by_cond, by_switch, by_select])
def test_what_is_refused_inside_is_a_finding_at_the_line_that_promotes(update, jit):
    with pytest.raises(TypeError):
        jax.eval_shape(update, {"w": HALF}, HALF)

    (finding,) = diagnose([signed(jit(update), {"w": HALF}, HALF)])

    source = Path(__file__).read_text().splitlines()
    assert finding.name == "inner-types-differ"
    assert "# promotes" in source[finding.location.line - 1]
    kind = update.__name__.removeprefix("by_").replace("layers", "scan")
    assert f"the {kind}" in finding.message
    assert finding.fix == (
        f"at tests/updates/trace/test_inner.py:{finding.location.line}, cast the result with "
        ".astype(jnp.bfloat16) (tried: the update is traced to its end)"
    )


def test_the_cure_that_is_told_is_one():
    def update(state, x):
        def layer(h, q):
            return ((h @ q["w"]) * q["scale"]).astype(jnp.bfloat16), None

        layers = {"w": jnp.ones((2, 3, 3), jnp.bfloat16), "scale": jnp.ones((2, 3))}
        return {"w": state["w"] + jax.lax.scan(layer, x, layers)[0]}

    assert not list(diagnose([signed(update, {"w": HALF}, HALF)]))


def test_an_integer_that_a_loop_makes_a_float_is_made_as_one():
    def update(state):
        total = jax.lax.while_loop(lambda r: r < 3, lambda r: r + jnp.float32(0.5), jnp.int32(0))
        return {"w": state["w"] + total.astype(jnp.bfloat16)}

    (finding,) = diagnose([signed(update, {"w": HALF})])

    assert finding.fix == "make the carry with dtype=jnp.float32 (tried: the update is traced to its end)"


def test_what_is_wrong_otherwise_is_said_as_before():
    """No shape is mended, and JAX's own functions are as they were after it."""

    def update(state):
        return {"w": jax.lax.scan(lambda carry, _: (carry[:2], None), state["w"], None, 3)[0]}

    before = jax.lax.scan

    with pytest.raises(NothingExaminedError, match="raises TypeError: scan body function carry input"):
        signed(update, {"w": HALF})

    assert jax.lax.scan is before
    assert scan is before
