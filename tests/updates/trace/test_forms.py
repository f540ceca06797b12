"""The forms in which steps are written: what is taken for state and what for data."""

import functools

import jax
import jax.numpy as jnp
import optax
import pytest

from jaxdoctor.facts.signature import Change
from jaxdoctor.updates.trace.run import sign
from jaxdoctor.updates.trace.target import Traced

PARAMS = {"w": jnp.ones(4)}
ADAM = optax.adam(1e-3)


def signed(update, *arguments):
    return sign(lambda: Traced(update=update, state=arguments[0], args=tuple(arguments[1:])), "x")


def two_parts(params, opt_state, batch):
    loss, gradients = jax.value_and_grad(lambda p: jnp.sum(p["w"] * batch) ** 2)(params)
    updates, opt_state = ADAM.update(gradients, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


def test_every_argument_that_comes_back_is_state():
    signature = signed(two_parts, PARAMS, ADAM.init(PARAMS), jnp.ones(4))

    assert (signature.state_parts, signature.data) == (("params", "opt_state"), ("batch",))
    paths = [leaf.path for leaf in signature.leaves]
    assert paths == ["params/w", "opt_state/0/count", "opt_state/0/mu/w", "opt_state/0/nu/w"]
    assert [counter.leaf for counter in signature.counters] == ["opt_state/0/count"]


def loss_first(params, opt_state, key, batch):
    params, opt_state, loss = two_parts(params, opt_state, batch)
    return loss, (params, opt_state), jax.random.split(key)[0]


def test_parts_are_found_in_any_order_and_inside_a_pair():
    signature = signed(loss_first, PARAMS, ADAM.init(PARAMS), jax.random.key(0), jnp.ones(4))

    assert (signature.state_parts, signature.data) == (("params", "opt_state", "key"), ("batch",))


def test_a_second_part_that_drifts_is_found():
    """Judged as if the first argument were the state alone, this one is a silent miss."""

    def step(params, average):
        return params, jax.tree.map(lambda a, p: a * jnp.float32(0.9) + p, average, params)

    half = {"w": jnp.ones(4, jnp.bfloat16)}

    signature = signed(step, half, half)

    assert {leaf.path: leaf.change for leaf in signature.leaves} == {
        "params/w": None,
        "average/w": Change.WIDENS,
    }


@pytest.mark.parametrize("name", ["learning_rate", "x"])
def test_a_number_or_an_array_that_is_no_state_is_not_taken_for_one(name):
    """A loss has a rate's type, and a prediction its input's."""
    update = {
        "learning_rate": lambda params, learning_rate: (params, jnp.sum(params["w"]) * learning_rate),
        "x": lambda params, x: (params, params["w"] * x),
    }[name]
    given = {"learning_rate": 1e-3, "x": jnp.ones(4)}[name]

    signature = signed(update, PARAMS, given)

    assert (signature.state_parts, signature.data, signature.verdict) == (("params",), (name,), "stable")


@functools.partial(jax.jit, static_argnums=2)
def with_static(state, x, rows, *, clip):
    return {"w": state["w"] + jnp.sum(x.reshape(rows, -1)) * clip}


@pytest.mark.parametrize("keywords", [(), ({"clip": 0.1},)])
def test_static_and_keyword_arguments(keywords):
    signature = signed(with_static, PARAMS, jnp.ones(8), 4, *keywords)

    assert (signature.verdict, signature.data) == ("stable", ("x", "clip"))
    assert signature.notes == (
        (() if keywords else ("clip not given: taken for a Python float",)) + ("rows static",)
    )


def test_axis_names_are_bound():
    def step(state, x):
        mean = jax.lax.pmean(jax.lax.psum(jnp.sum(x), "rows"), "batch")
        return {"w": state["w"] - mean * jax.lax.axis_index("rows")}

    signature = signed(step, PARAMS, jnp.ones(8))

    assert signature.verdict == "stable"
    assert signature.notes == ("axis 'rows' bound with size 1", "axis 'batch' bound with size 1")


def test_modules_of_nnx_are_split_and_merged():
    from flax import nnx

    model = nnx.Sequential(nnx.Linear(3, 3, rngs=nnx.Rngs(0)), nnx.Dropout(0.5, rngs=nnx.Rngs(1)))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer, x):
        loss, gradients = nnx.value_and_grad(lambda model: jnp.mean(model(x) ** 2))(model)
        optimizer.update(model, gradients)
        return loss

    signature = signed(step, model, optimizer, jnp.ones((2, 3)))

    assert (signature.state_parts, signature.data) == (("model", "optimizer"), ("x",))
    assert signature.verdict == "stable"
    counted = {counter.leaf for counter in signature.counters}
    assert "optimizer/opt_state/0/count/value" in counted


def test_a_value_read_on_the_host_is_that_of_one_call():
    def step(state, x):
        if float(jnp.sum(state["w"] * x)) > 100:
            return state
        return {"w": state["w"].astype(jnp.bfloat16)}

    signature = signed(step, PARAMS, jnp.ones(4))

    assert [leaf.after for leaf in signature.leaves] == ["bfloat16[4]"]
    assert signature.notes == ("values that it reads on the host are those of one call that was made",)


class Loader:
    """As torch's: a length, batches, no tree."""

    def __len__(self):
        return 1

    def __iter__(self):
        return iter([jnp.ones(4)])


@pytest.mark.parametrize("batches", [Loader(), iter([jnp.ones(4)])], ids=["loader", "iterator"])
def test_a_loader_gives_its_first_batch(batches):
    assert signed(lambda s, batch: {"w": s["w"] + batch.sum()}, PARAMS, batches).inputs == ("float32[4]",)


def test_a_call_that_raises_after_the_first_is_told():
    def step(state):
        return {"w": state["w"] @ jnp.ones((4, 5)), "n": state["n"] + 1}

    signature = signed(step, {"w": jnp.zeros((2, 4)), "n": jnp.int32(0)})

    assert signature.raises.call == 2
    assert signature.raises.message.startswith("TypeError: dot_general requires contracting dimensions")
    assert signature.raises.file.endswith("test_forms.py")


def test_metrics_of_nnx_are_state_too():
    from flax import nnx

    model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, ADAM, wrt=nnx.Param)

    def step(model, optimizer, metrics, x):
        loss, gradients = nnx.value_and_grad(lambda model: jnp.mean(model(x) ** 2))(model)
        optimizer.update(model, gradients)
        metrics.update(loss=loss)

    metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))

    signature = signed(step, model, optimizer, metrics, jnp.ones((2, 3)))

    assert (signature.state_parts, signature.data) == (("model", "optimizer", "metrics"), ("x",))
