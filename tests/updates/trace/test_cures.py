"""Cures: each that is offered makes its finding go away, and none takes a value away."""

import equinox
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxdoctor.rules.diagnose import diagnose
from jaxdoctor.updates.trace.run import sign
from jaxdoctor.updates.trace.target import Traced


def signed(update, state, *args):
    return sign(lambda: Traced(update=update, state=state, args=args), "x")


def cure(update, state, *args):
    """The only cure of an update with one drifting leaf."""
    (stated,) = {leaf.cure.stated for leaf in signed(update, state, *args).leaves if leaf.cure is not None}
    return stated


def test_an_integer_that_becomes_a_float_is_made_as_a_float():
    """Cast back, an episode's return would be 0 for ever."""

    def update(state, reward):
        return {"returned": state["returned"] + reward}

    stated = cure(update, {"returned": jnp.int32(7)}, jnp.float32(0.5))
    state = {"returned": jnp.float32(7)}

    assert stated == "make returned as jnp.float32(7) (tried: settles at once)"
    assert signed(update, state, jnp.float32(0.5)).verdict == "stable"


def test_a_history_that_grows_is_cut_to_its_length():
    def update(state, x):
        return {"history": jnp.concatenate([state["history"], x[None]])}

    signature = signed(update, {"history": jnp.zeros((5, 3))}, jnp.ones(3))

    assert signature.rounds is None
    assert {finding.code: finding.fix for finding in diagnose([signature])} == dict.fromkeys(
        ("JD503", "JD508"), "return history[-5:], its last 5 (tried: settles at once)"
    )


def test_what_turns_about_or_begins_empty_is_cut_nowhere():
    turned = signed(lambda state: {"w": state["w"].T}, {"w": jnp.ones((3, 4))})
    empty = signed(lambda state: {"w": jnp.pad(state["w"], (0, 1))}, {"w": jnp.ones(0)})

    assert {finding.fix for finding in diagnose([turned, empty])} == {None}


def test_a_weak_parameter_is_made_strong_before_the_optimizer_is_made():
    """Its moments are weak because it is: nobody has to make them otherwise."""
    optimizer = optax.adam(1e-3)

    def update(state):
        updates, moments = optimizer.update(state["alpha"] * 2, state["opt"])
        return {"alpha": state["alpha"] + updates, "opt": moments}

    def state(alpha):
        return {"alpha": alpha, "opt": optimizer.init(alpha)}

    (finding,) = diagnose([signed(update, state(jnp.asarray(3.0)))])

    assert finding.fix == "make alpha as jnp.float32(3), before the optimizer's init (tried: settles at once)"
    assert signed(update, state(jnp.float32(3))).verdict == "stable"


@pytest.mark.parametrize("leaf", [jnp.bfloat16(0.999), jnp.zeros((), jnp.float16)])
def test_a_scalar_is_never_made_narrower(leaf):
    """bfloat16(0.999) is 1."""
    stated = cure(lambda state: {"decay": state["decay"] * jnp.float32(0.99)}, {"decay": leaf})

    assert stated.startswith("make decay as jnp.float32(")


def test_an_average_is_kept_wide():
    half = jnp.ones(4, jnp.bfloat16)

    def update(state, w):
        decay = jnp.minimum(0.999, (1 + state["n"]) / (10 + state["n"]))
        return {"ema": state["ema"] * decay + w * (1 - decay), "n": state["n"] + 1}

    stated = cure(update, {"ema": half, "n": jnp.int32(0)}, half)

    assert stated == "make ema with dtype=jnp.float32 (tried: settles at once)"


def test_what_an_optimizer_makes_weak_is_given_its_dtype_after_its_init():
    optimizer = optax.lbfgs()

    def loss(params):
        return jnp.sum((params - 1) ** 2)

    def update(params, state):
        value, gradient = optax.value_and_grad_from_state(loss)(params, state=state)
        updates, state = optimizer.update(gradient, state, params, value=value, grad=gradient, value_fn=loss)
        return optax.apply_updates(params, updates), state

    params = jnp.zeros(3)
    state = optimizer.init(params)

    stated = {leaf.cure.stated for leaf in signed(update, params, state).leaves if leaf.cure is not None}

    assert all("lambda x: jnp.asarray(x, x.dtype)" in text for text in stated)
    strong = jax.tree.map(lambda x: jnp.asarray(x, x.dtype), state)
    assert signed(update, params, strong).rounds == 0


def test_an_average_of_two_products_on_one_line_is_kept_wide():
    half = jnp.ones(4, jnp.bfloat16)

    def update(state, w):
        decay = jnp.exp(-state["n"])
        return {"ema": (1 - decay) * w + decay * state["ema"], "n": state["n"] + 1}

    stated = cure(update, {"ema": half, "n": jnp.float32(0)}, half)

    assert stated == "make ema with dtype=jnp.float32 (tried: settles at once)"


@pytest.mark.parametrize(("factor", "narrow"), [(0.9, True), (0.999, False)])
def test_a_number_of_numpy_is_cast_or_written_as_python_s_unless_that_makes_it_1(factor, narrow):
    stated = cure(lambda w: w * np.float64(factor), jnp.ones(4, jnp.bfloat16))

    assert ("cast the result" in stated) is narrow
    assert (f"write the number {factor} as Python's" in stated) is narrow


def test_a_parameter_is_cast_at_the_line_that_widens_it():
    def update(w, gradient):
        return w - jnp.float32(0.1) * gradient

    half = jnp.ones(4, jnp.bfloat16)

    stated = cure(update, half, half)

    line = update.__code__.co_firstlineno + 1
    assert stated == (
        f"at tests/updates/trace/test_cures.py:{line}, cast the result with .astype(jnp.bfloat16), "
        "or write the number 0.1 as Python's, float(...) (tried: settles at once)"
    )


@pytest.mark.parametrize("jit", [jax.jit, lambda f: f])
def test_a_leaf_that_becomes_weak_is_mended_at_the_line_that_returns_it(jit):
    @jit
    def update(state):
        done = jnp.where(state["x"].sum() > 0, 1.0, 0.0)
        return {"done": done, "x": state["x"] * 0.5}

    signature = signed(update, {"done": jnp.zeros(()), "x": jnp.ones(3)})

    (leaf,) = [leaf for leaf in signature.leaves if leaf.change]
    assert leaf.sites[0].source == 'done = jnp.where(state["x"].sum() > 0, 1.0, 0.0)'
    assert leaf.cure.text.endswith(f":{leaf.sites[0].line}, end it with .astype(jnp.float32)")


def test_an_optimizer_s_moments_are_wrapped_and_the_user_s_line_is_named():
    transform = optax.inject_hyperparams(optax.adamw, hyperparam_dtype=jnp.float32)(learning_rate=1e-3)
    params = {"w": jnp.ones(8, jnp.bfloat16)}

    def update(state, gradients):
        updates, opt_state = transform.update(gradients, state["opt"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "opt": opt_state}

    signature = signed(update, {"params": params, "opt": transform.init(params)}, params)

    (leaf,) = [leaf for leaf in signature.leaves if leaf.change]
    assert leaf.cure.text.startswith("wrap the optimizer: jaxdoctor.remedies.stable_dtypes(optimizer)")
    assert leaf.sites[0].file == "tests/updates/trace/test_cures.py"
    assert leaf.sites[0].source.startswith("updates, opt_state = transform.update(")
    assert leaf.sites[0].package.startswith("optax/")


class Model(equinox.Module):
    scale: jax.Array
    linear: equinox.nn.Linear

    def __call__(self, x):
        return self.scale * self.linear(x)


def test_all_leaves_that_drift_at_any_call_are_told_at_once():
    """Adam's moments of a weak leaf drift only after the leaf itself has: https://github.com/patrick-kidger/equinox/issues/640."""
    model = Model(jnp.asarray(1.0), equinox.nn.Linear(2, 1, key=jax.random.key(0)))
    transform = optax.adam(1e-3)

    def update(state, x):
        model, opt_state = state
        gradients = equinox.filter_grad(lambda model: jnp.mean(jax.vmap(model)(x) ** 2))(model)
        updates, opt_state = transform.update(gradients, opt_state, model)
        return equinox.apply_updates(model, updates), opt_state

    state = (model, transform.init(equinox.filter(model, equinox.is_array)))
    signature = signed(update, state, jnp.ones((4, 2)))

    calls = {leaf.path: leaf.call for leaf in signature.leaves if leaf.change}
    assert calls == {"0/scale": 1, "1/0/mu/scale": 2, "1/0/nu/scale": 1}
    (finding,) = diagnose([signature])
    assert finding.message.endswith("jit compiles the step 3 times")
    assert finding.fix.endswith("(tried: settles at once)")


@pytest.mark.parametrize(
    ("update", "text"),
    [
        (lambda key: jax.random.key_data(jax.random.split(key)[0]), "a typed key comes out raw"),
        (jax.random.wrap_key_data, "a raw key comes out typed"),
    ],
)
def test_keys_that_change_their_kind(update, text):
    key = jax.random.key(0) if "typed key" in text else jax.random.PRNGKey(0)

    stated = cure(lambda state: {"rng": update(state["rng"])}, {"rng": key})

    assert stated.startswith(text)
    assert stated.endswith("(tried: settles at once)")


def test_a_leaf_that_grows_has_no_cure():
    signature = signed(lambda h: jnp.concatenate([h, h]), np.zeros(1, np.float32))

    assert [leaf.cure for leaf in signature.leaves] == [None]


def test_a_cure_that_breaks_another_leaf_is_not_offered():
    """Neither a narrower result nor a wider start helps: the other leaf follows it."""

    def update(state):
        wide = state["w"] * jnp.float32(2)
        return {"w": wide if state["w"].dtype == jnp.bfloat16 else wide.astype(jnp.bfloat16)}

    signature = signed(update, {"w": jnp.ones(3, jnp.bfloat16)})

    assert signature.rounds is None
    (leaf,) = signature.leaves
    assert leaf.cure.text.startswith("at tests/updates/trace/test_cures.py") or "cast w" in leaf.cure.text
