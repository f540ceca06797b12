"""Some products at HIGHEST, and everything else as it stood: seen in the lowered program."""

import re
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxdoctor.errors import UnknownNameError
from jaxdoctor.programs import jax_internals
from jaxdoctor.programs.authors import place_of
from jaxdoctor.programs.emulate import emulate
from jaxdoctor.programs.products import is_product
from jaxdoctor.programs.raise_precision import HIGHEST, names
from jaxdoctor.remedies import raise_precision

CONSTANTS = ("stablehlo.constant", "stablehlo.broadcast_in_dim")

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


def test_a_product_with_a_precision_of_its_own_is_raised_too():
    """No setting reaches it."""

    def high(x):
        return jnp.matmul(x, x, precision="high")

    assert precisions(raise_precision(high, sites=[f"{Path(__file__).name}"]), X) == ["HIGHEST"]
    with jax.default_matmul_precision("highest"):
        assert precisions(high, X) == ["HIGH"]


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


def products(function, *args):
    """Place and precision of every product, in program order, the same program's only once."""
    seen = set()

    def walk(jaxpr):
        if id(jaxpr) in seen:
            return
        seen.add(id(jaxpr))
        for eqn in jaxpr.eqns:
            if is_product(eqn):
                yield place_of(eqn), eqn.params["precision"]
            for inner in jax_internals.inner_jaxprs(eqn):
                yield from walk(inner)

    return list(walk(jax.make_jaxpr(function)(*args).jaxpr))


def assert_only(site, function, *args, wrap=lambda function: function):
    """Of all products those of the site, and no other, are at HIGHEST after it; nothing else differs.

    In the lowered text as many products change as have changed in the program, and nothing else.
    """
    plain, raised = wrap(function), wrap(raise_precision(function, sites=[site]))
    before, after = products(plain, *args), products(raised, *args)
    assert [place for place, _ in after] == [place for place, _ in before]
    changed = {place for (place, old), (_, new) in zip(before, after, strict=True) if old != new}
    assert changed
    assert all(names(site, place) for place in changed)
    assert {new for place, new in after if names(site, place)} == {HIGHEST}
    texts = [jax.jit(each).lower(*args).as_text() for each in (plain, raised)]
    assert operations(texts[0]) == operations(texts[1])
    assert marks(texts[1]) > marks(texts[0])
    return marks(texts[1]) - marks(texts[0])


def operations(text):
    """How often each occurs, but for constants, which may stand elsewhere."""
    found = Counter(re.findall(r"stablehlo\.\w+", text))
    return {name: times for name, times in found.items() if name not in CONSTANTS}


def marks(text):
    return text.count("precision = [HIGHEST, HIGHEST]")


def mjx_humanoid():
    mujoco = pytest.importorskip("mujoco")
    mjx = pytest.importorskip("mujoco.mjx")
    shipped = Path(find_spec("mujoco.mjx").submodule_search_locations[0]) / "test_data"
    model = mujoco.MjModel.from_xml_path(str(shipped / "humanoid" / "humanoid.xml"))
    data = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), mjx.make_data(model, impl="jax"))
    return jax.vmap(mjx.step, in_axes=(None, 0)), mjx.put_model(model, impl="jax"), data


def brax_step():
    """A step of Brax's reacher with the action of a policy of Brax's."""
    envs = pytest.importorskip("brax.envs")
    networks = pytest.importorskip("brax.training.networks")
    env = envs.get_environment("reacher", backend="positional")
    policy = networks.make_policy_network(env.action_size, env.observation_size, hidden_layer_sizes=(16,))
    weights = policy.init(jax.random.key(0))
    states = jax.vmap(env.reset)(jax.random.split(jax.random.key(1)))

    def step(weights, state):
        action = jnp.tanh(policy.apply(None, weights, state.obs))
        return env.step(state, action)

    return jax.vmap(step, in_axes=(None, 0)), weights, states


@pytest.mark.slow
def test_one_product_of_mjx_on_the_humanoid():
    """The first that a matrix unit computes, by the name that a probe gives it."""
    step, parameters, batch = mjx_humanoid()
    site = emulate(step, parameters, batch).sites[0].place

    assert assert_only(site, step, parameters, batch) == 1


@pytest.mark.slow
# Brax says of its own physics that MJX's is maintained.
@pytest.mark.filterwarnings("ignore:Brax System:UserWarning", "ignore:Accessing:DeprecationWarning")
def test_the_policy_of_a_brax_step_and_none_of_its_physics():
    step, weights, states = brax_step()
    places = {place for place, _ in products(step, weights, states)}
    assert any("brax/" in place and "flax/" not in place for place in places)

    assert assert_only("flax/linen/linear.py", step, weights, states) == 2


def flax_network():
    linen = pytest.importorskip("flax.linen")
    network = linen.Sequential([linen.Dense(16), linen.relu, linen.Dense(4)])
    return network.apply, network.init(jax.random.key(0), X), X


# A flax of the time of jax 0.5 uses what that jax deprecates.
@pytest.mark.filterwarnings("ignore:shape requires:DeprecationWarning")
def test_a_flax_network_layer_by_layer():
    """Its layers share a line of the library; that raises all of them, and a layer's whole name one."""
    apply, variables, x = flax_network()
    named = [place for place, _ in products(apply, variables, x)]
    assert [place.rpartition(" ")[2] for place in named] == ["(layers_0)", "(layers_2)"]
    assert assert_only(named[1], apply, variables, x) == 1

    assert assert_only("flax/linen/linear.py", apply, variables, x) == 2
    raised = raise_precision(apply, sites=["flax/linen/linear.py"])
    np.testing.assert_allclose(raised(variables, x), apply(variables, x), rtol=1e-6)


def scanned(x):
    return jax.lax.scan(lambda carry, _: (first(second(carry)), None), x, None, length=3)[0]


@pytest.mark.parametrize(
    ("function", "wrap", "raised"),
    [
        (scanned, lambda f: f, 1),
        (both, jax.vmap, 1),
        # The product itself, whose cosine the derivative takes, and one for each of its two factors.
        (both, lambda f: jax.grad(lambda x: f(x).sum()), 3),
        (both, lambda f: jax.value_and_grad(lambda x: f(x).sum()), 3),
        (both, lambda f: jax.grad(lambda x: jax.checkpoint(f)(x).sum()), 3),
        (scanned, lambda f: jax.vmap(jax.grad(lambda x: f(x).sum())), 3),
    ],
    ids=["scan", "vmap", "grad", "value-and-grad", "remat", "vmap-of-grad-of-scan"],
)
def test_under_transformations_only_the_named_products_and_their_derivatives_change(function, wrap, raised):
    x = jnp.stack([X, X]) if wrap is jax.vmap or "vmap" in wrap.__code__.co_names else X

    assert assert_only(place(second), function, x, wrap=wrap) == raised


# A flax of the time of jax 0.5 uses what that jax deprecates.
@pytest.mark.filterwarnings("ignore:shape requires:DeprecationWarning")
def test_a_layer_is_named_by_the_line_that_calls_it():
    linen = pytest.importorskip("flax.linen")

    class Network(linen.Module):
        @linen.compact
        def __call__(self, x):
            x = linen.Dense(16, name="l1")(x)
            return linen.Dense(4, name="l2")(x)

    network = Network()
    variables = network.init(jax.random.key(0), X)
    one, two = (place for place, _ in products(network.apply, variables, X))
    lines = [place.partition(" from ")[2].partition(" ")[0] for place in (one, two)]

    assert (one[-4:], two[-4:]) == ("(l1)", "(l2)")
    assert int(lines[1].partition(":")[2]) == int(lines[0].partition(":")[2]) + 1
    assert assert_only(lines[1], network.apply, variables, X) == 1
