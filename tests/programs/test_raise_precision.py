"""Some products at HIGHEST, and everything else as it stood: seen in the lowered program."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdoctor.errors import UnknownNameError
from jaxdoctor.remedies import raise_precision

X = jnp.linspace(0.0, 1.0, 64).reshape(8, 8)


def first(x):
    return x @ x  # the first product


def second(x):
    return x @ x  # the second product


def both(x):
    return first(x) + jnp.sin(second(x))


def place(function):
    """The line below the function's head, as a report names it."""
    return f"test_raise_precision.py:{function.__code__.co_firstlineno + 1}"


def precisions(function, *args):
    """Of every product in the lowered program, in order; None: what is configured."""
    text = jax.jit(function).lower(*args).as_text()
    products = [line for line in text.splitlines() if "dot_general" in line or "convolution" in line]
    found = [re.search(r"precision = \[(\w+), (\w+)\]", line) for line in products]
    return [None if each is None or each[1] == "DEFAULT" else each[1] for each in found]


def test_only_the_named_product_changes():
    raised = raise_precision(both, sites=[place(second)])

    assert precisions(both, X) == [None, None]
    assert precisions(raised, X) == [None, "HIGHEST"]
    np.testing.assert_array_equal(raised(X), both(X))


def test_the_whole_name_of_a_report_is_taken():
    raised = raise_precision(both, sites=[f"{place(first)} (first)"])

    assert precisions(raised, X) == ["HIGHEST", None]


def without_precision(text):
    return re.sub(r", precision = \[[^]]*\]", "", text)


def test_nothing_else_of_the_program_changes():
    """But for that one word the lowered texts are the same."""
    raised = raise_precision(both, sites=[place(first)])
    before = jax.jit(both).lower(X).as_text()
    after = jax.jit(raised).lower(X).as_text()

    operations = [re.findall(r"stablehlo\.\w+", text) for text in (before, after)]

    assert operations[0] == operations[1]
    assert before != after


@pytest.mark.parametrize(
    "wrap",
    [
        lambda f: jax.grad(lambda x: f(x).sum()),
        jax.vmap,
        jax.checkpoint,
        lambda f: lambda x: jax.lax.scan(lambda carry, _: (f(carry), None), x, None, length=3)[0],
        lambda f: jax.jit(jax.grad(lambda x: jax.checkpoint(f)(x).sum())),
    ],
    ids=["grad", "vmap", "remat", "scan", "grad-of-remat"],
)
def test_transformations_work_on_it(wrap):
    """They give what they give of the function itself, with the same products raised, gradients' included."""
    x = jnp.stack([X, X]) if wrap is jax.vmap else X
    raised, plain = wrap(raise_precision(both, sites=[place(second)])), wrap(both)

    np.testing.assert_allclose(raised(x), plain(x), rtol=1e-6)
    marks = precisions(raised, x)
    assert "HIGHEST" in marks
    assert None in marks
    assert set(precisions(plain, x)) == {None}


def test_products_inside_loops_choices_and_calls():
    def program(x):
        x = jax.lax.fori_loop(0, 2, lambda _, y: first(y), x)
        x = jax.lax.cond(x.sum() > 0, second, lambda y: y, x)
        return jax.jit(first)(x)

    raised = raise_precision(program, sites=[place(second)])

    assert precisions(raised, X).count("HIGHEST") == 1
    assert precisions(raise_precision(program, sites=[place(first)]), X).count("HIGHEST") == 2
    np.testing.assert_allclose(raised(X), program(X), rtol=1e-6)


def test_a_custom_derivative_is_still_taken():
    @jax.custom_vjp
    def doubled(x):
        return first(x)

    doubled.defvjp(lambda x: (first(x), x), lambda _, gradient: (2 * gradient,))
    raised = raise_precision(lambda x: doubled(x).sum(), sites=[place(first)])

    np.testing.assert_array_equal(jax.grad(raised)(X), 2 * jnp.ones_like(X))
    assert precisions(raised, X) == ["HIGHEST"]


def test_what_is_no_array_stays_static():
    def program(x, mode, *, scale):
        return first(x) * scale if mode == "scaled" else x

    raised = raise_precision(program, sites=[place(first)])

    np.testing.assert_array_equal(raised(X, "scaled", scale=2.0), first(X) * 2.0)


def test_a_site_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(
        UnknownNameError, match=r"there is no matrix product named 'elsewhere.py:3'"
    ) as caught:
        raise_precision(both, sites=["elsewhere.py:3"])(X)

    assert place(first) in caught.value.hint


@pytest.mark.slow
def test_one_product_of_mjx_on_the_humanoid():
    """The mass matrix's product, by the name that a probe gives it."""
    from importlib.util import find_spec
    from pathlib import Path

    import mujoco
    from mujoco import mjx

    from jaxdoctor.programs.emulate import emulate

    shipped = Path(find_spec("mujoco.mjx").submodule_search_locations[0]) / "test_data"
    model = mujoco.MjModel.from_xml_path(str(shipped / "humanoid" / "humanoid.xml"))
    parameters, data = mjx.put_model(model, impl="jax"), mjx.make_data(model, impl="jax")
    batch = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), data)
    step = jax.vmap(mjx.step, in_axes=(None, 0))
    site = emulate(step, parameters, batch).sites[0].place

    before = precisions(step, parameters, batch)
    after = precisions(raise_precision(step, sites=[site]), parameters, batch)

    changed = [index for index, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    assert changed
    assert {after[index] for index in changed} == {"HIGHEST"}
    assert len(changed) < len(before)


def test_a_flax_network_layer_by_layer():
    """Its layers share a line of the library, so they are raised together."""
    from flax import linen

    network = linen.Sequential([linen.Dense(16), linen.relu, linen.Dense(4)])
    variables = network.init(jax.random.key(0), X)

    raised = raise_precision(network.apply, sites=["flax/linen/linear.py"])

    assert precisions(raised, variables, X) == ["HIGHEST", "HIGHEST"]
    np.testing.assert_allclose(raised(variables, X), network.apply(variables, X), rtol=1e-6)
