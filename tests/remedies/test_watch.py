"""watch: a step that is checked when it is first called."""

import jax
import jax.numpy as jnp
import pytest

from jaxdoctor.remedies import watch
from jaxdoctor.remedies.watch_ import DriftError


def test_a_step_that_drifts_is_refused_with_its_leaf_and_its_line():
    @watch
    def step(state, batch):
        scaled = batch * jnp.float32(0.5)
        return {"mean": state["mean"] + scaled.mean()}

    with pytest.raises(DriftError, match="mean") as caught:
        step({"mean": jnp.zeros((), jnp.bfloat16)}, jnp.ones(3, jnp.bfloat16))

    assert "float32" in str(caught.value)
    assert f"test_watch.py:{step.__wrapped__.__code__.co_firstlineno + 3}" in str(caught.value)


def test_a_weak_type_that_appears_is_refused():
    @watch
    def step(state):
        return {"done": jnp.where(state["done"] > 0, 1.0, 0.0)}

    with pytest.raises(DriftError, match="done"):
        step({"done": jnp.zeros((), jnp.float32)})


def test_a_stable_step_runs_and_is_traced_no_more():
    """After the first call it is the bare function."""
    traces = []

    def step(state, batch):
        traces.append(1)
        return {"mean": state["mean"] * 0.9 + batch.mean() * 0.1}, batch.sum()

    watched = watch(step)
    state, total = watched({"mean": jnp.zeros(())}, jnp.ones(3))
    checked = len(traces)
    watched(state, jnp.ones(3))

    assert total == 3
    assert checked > 1
    assert len(traces) == checked + 1


def test_what_the_step_has_is_still_there():
    jitted = watch(jax.jit(lambda state: state + 1))

    assert (
        "stablehlo" in jitted.lower(jnp.int32(0)).as_text()
        or "module" in jitted.lower(jnp.int32(0)).as_text()
    )
    assert jitted(jnp.int32(1)) == 2


def test_inside_jit_it_checks_types_alone():
    watched = watch(lambda state: state * 0.5)

    assert jax.jit(watched)(jnp.float32(3)) == 1.5
    with pytest.raises(DriftError):
        jax.jit(watch(lambda state: state * 0.5))(jnp.int32(3))


def test_the_state_comes_first():
    with pytest.raises(TypeError, match="first argument"):
        watch(lambda *, state: state)(state=jnp.zeros(()))
