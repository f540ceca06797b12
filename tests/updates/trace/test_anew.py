"""Calls that compile anew, against the compiles that are counted."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from flax import nnx

from jaxdoctor.updates.trace.anew import dropped, unforeseen
from jaxdoctor.updates.trace.calls import Called
from jaxdoctor.updates.trace.record import Recorder
from jaxdoctor.updates.trace.script import _recompiles as recompiles
from tests.updates.trace.test_record import watched

KEY = jax.random.key(0)


def only_cause(recorder):
    (found,) = recompiles(recorder.best)
    return found


def test_a_function_that_is_made_anew_is_told_with_its_cure(tmp_path):
    found = only_cause(
        watched(
            tmp_path,
            """
            for _ in range(9):
                params, opt_state = jax.jit(lambda p, s: learnt(p, s, x))(params, opt_state)
            """,
        )
    )

    assert found.certain
    assert found.cause == (
        "<lambda> is another function in call 2, made anew on the same line: every call compiles"
    )
    assert found.fix == "define and jit <lambda> once, before the loop (tried: 1 compile for both calls)"


STATIC = """
from functools import partial

@partial(jax.jit, static_argnames="i")
def step(params, opt_state, x, i):
    {first}
    return learnt(params, opt_state, x / (1 + i))

for i in range(9):
    params, opt_state = step(params, opt_state, x, i)
"""


def test_a_static_argument_that_changes_is_told_and_its_cure_is_tried(tmp_path):
    found = only_cause(watched(tmp_path, STATIC.format(first="pass")))

    assert (found.leaf, found.cause) == (
        "i",
        "the static argument i is 0 in call 1 and 1 in call 2: each new value compiles the step",
    )
    assert found.fix == "take i out of the static arguments (tried: 1 compile for both calls)"


def test_no_cure_is_told_that_the_function_does_not_take(tmp_path):
    found = only_cause(watched(tmp_path, STATIC.format(first="assert i < 5")))

    assert found.leaf == "i"
    assert found.fix is None


def test_a_smaller_last_batch_is_told_with_a_cure_that_saves_its_compile(tmp_path):
    found = only_cause(
        watched(
            tmp_path,
            """
            step = jax.jit(learnt)
            for size in (8, 5, 8):
                params, opt_state = step(params, opt_state, x[:size])
            """,
        )
    )

    assert found.cause == "call 2 has x as float32[5,4], call 1 as float32[8,4]: XLA compiled there"
    assert found.fix.endswith("(tried: 1 compile, not 2)")


def called(kind, function, size):
    module = {"nnx.jit": nnx.Linear(4, 1, rngs=nnx.Rngs(0)), "filter_jit": eqx.nn.MLP(4, 1, 2, 1, key=KEY)}
    batch = jnp.ones((1, size, 4) if kind == "pmap" else (size, 4))
    args = (module.get(kind, jnp.ones((1, 4))), batch)
    return Called(None, function, kind, {}, args, {}).without_arrays()


@pytest.mark.parametrize("kind", ["jit", "filter_jit", "nnx.jit", "pmap"])
def test_dropping_a_smaller_batch_is_tried_in_every_kind_of_jit(kind):
    def step(model, x):
        return jax.tree.map(lambda leaf: leaf, x * 2)

    first, odd = called(kind, step, 8), called(kind, step, 5)

    assert str(dropped(first, odd)).endswith("(tried: 1 compile, not 2)")
    assert dropped(first, first) is None


@pytest.mark.parametrize("weak", [True, False])
def test_the_log_of_cache_misses_agrees_with_the_compiles_that_are_counted(weak):
    recorder = Recorder(calls=4)
    with recorder.watching():

        @functools.partial(jax.jit, donate_argnums=0)
        def step(state, x):
            return {"n": state["n"] + jnp.int32(1), "w": state["w"] + jnp.sum(x)}

        state = {"n": 0 if weak else jnp.int32(0), "w": jnp.zeros(3)}
        for size in (4, 4, 4, 3):
            state = step(state, jnp.ones(size))

    (entry,) = recorder.entries.values()
    assert entry.compiled == [True, weak, False, True]
    assert [why is not None for why in entry.missed] == entry.compiled
    assert entry.missed[3] == "at x, now f32[3] and before f32[4]"
    assert entry.signature.rounds == int(weak)


def test_what_nothing_foresaw_is_told_in_jax_own_words():
    why = ["never seen", "at x, now f32[3] and before f32[4]", None]
    (found,) = unforeseen([True, True, True], why, expected=1)
    assert found.cause == "XLA compiled at call 2, 3 too; JAX says: at x, now f32[3] and before f32[4]"

    (found,) = unforeseen([True, True], ["never seen", None], expected=1)
    assert found.once
    assert "sharding" in found.cause
    assert not list(unforeseen([True, True], [None, None], expected=2))
