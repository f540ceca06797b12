"""Signatures of updates: ill ones, and those of real libraries."""

import functools
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxdoctor.errors import NothingExaminedError, UsageError
from jaxdoctor.facts.parameters import parse
from jaxdoctor.facts.signature import Change
from jaxdoctor.programs.named import find
from jaxdoctor.updates.check import Wish, check_update
from jaxdoctor.updates.trace.run import sign
from jaxdoctor.updates.trace.target import Traced, build, of_transform
from jaxdoctor.updates.trace.weights import params_tree

PARAMETERS = parse("w=float32[8,4],b=float32[4]")
HERE = "tests/updates/trace/test_run.py"


def signed(update, state, *args):
    return sign(lambda: Traced(update=update, state=state, args=args), "x")


def transform_signed(transform, dtype):
    return sign(lambda: of_transform(transform, params_tree(PARAMETERS, dtype)), "x")


@pytest.fixture
def compiling_is_forbidden(monkeypatch):
    """Any XLA compile raises, also one of a single operation."""

    def refuse(*_, **__):
        raise AssertionError("something was compiled")

    jax.clear_caches()
    monkeypatch.setattr("jax._src.compiler.compile_or_get_cached", refuse)
    with pytest.raises(AssertionError, match="compiled"):
        jax.jit(lambda x: x + 41)(1.0)


@pytest.mark.parametrize("name", ["train_state", "nnx_optimizer", "equinox_model", "brax_ppo"])
@pytest.mark.filterwarnings("ignore:JAXopt is no longer maintained:DeprecationWarning")
@pytest.mark.usefixtures("compiling_is_forbidden")
def test_updates_of_real_libraries_are_stable_and_judged_without_a_compile(name):
    target = f"tests.sample_updates:{name}"

    started = time.process_time()
    signature = sign(lambda: build(find(target), target, None), target)

    assert time.process_time() - started < 10
    assert signature.verdict == "stable"
    assert (signature.rounds, signature.loop_error, signature.compilations) == (0, None, 0)
    assert {counter.increment for counter in signature.counters} >= {1}


@pytest.mark.filterwarnings("ignore:JAXopt is no longer maintained:DeprecationWarning")
def test_brax_counts_environment_steps_in_two_words():
    target = "tests.sample_updates:brax_ppo"

    signature = sign(lambda: build(find(target), target, None), target)

    steps = {each.leaf: (each.dtype, each.increment) for each in signature.counters}
    assert steps["env_steps"] == steps["normalizer_params/count"] == ("uint32x2", 320)


@pytest.mark.slow
@pytest.mark.usefixtures("compiling_is_forbidden")
def test_a_state_of_gigabytes_is_judged_without_making_it():
    """Twelve layers, whose state is 1.8 GiB."""
    target = "tests.sample_updates:transformer"

    signature = sign(lambda: build(find(target), target, None), target)

    assert (signature.verdict, signature.compilations, signature.donated) == ("stable", 0, False)
    assert signature.state_bytes > 1.7 * 2**30


RATE = np.float32(0.1)


def descend(params, gradients):
    return params - RATE * gradients  # the line that promotes


def test_the_line_that_promotes_is_named_with_the_calls_that_lead_there():
    state = {"w": jnp.zeros(3, jnp.bfloat16)}

    signature = signed(lambda state, g: {"w": descend(state["w"], g)}, state, jnp.zeros(3, jnp.bfloat16))

    (leaf,) = signature.leaves
    site = leaf.sites[0]
    assert (leaf.change, signature.rounds) == (Change.WIDENS, 1)
    assert site.place.startswith(f"{HERE}:")
    assert site.source == "return params - RATE * gradients  # the line that promotes"
    assert (site.dtype_from, site.dtype_to, site.implicit, site.partner) == (
        "bfloat16",
        "float32",
        True,
        "float32[]",
    )
    assert site.through[-1].startswith(HERE)


def test_a_python_number_promotes_nothing():
    signature = signed(lambda w: w * 0.1 - 3, jnp.zeros(3, jnp.bfloat16))

    assert signature.verdict == "stable"
    assert not signature.promotions


def test_a_promotion_inside_a_jitted_function_and_a_scan_is_found():
    @jax.jit
    def inner(carry, _):
        return carry, (carry * RATE).sum()

    def update(w):
        return w + jax.lax.scan(inner, w, None, length=3)[1].sum().astype(w.dtype)

    signature = signed(update, jnp.zeros(3, jnp.bfloat16))

    assert signature.verdict == "stable"
    (site,) = signature.promotions
    assert site.source == "return carry, (carry * RATE).sum()"


def test_a_promotion_that_is_cast_back_at_once_was_meant():
    signature = signed(lambda w: (w * RATE).astype(w.dtype), jnp.zeros(3, jnp.bfloat16))

    assert not signature.promotions


def test_what_is_cast_back_further_down_was_meant_too():
    """Moments of maxtext's own kind: https://github.com/AI-Hypercomputer/maxtext/pull/495."""

    def update(state, g):
        t = (state["t"] + 1).astype(jnp.float32)
        decay = 0.9 * (1.0 - 0.9 ** (t - 1.0)) / (1.0 - 0.9**t)
        moment = (1 - decay) * g * g + decay * state["m"]
        w = state["w"] - (1e-3 * g / (jnp.sqrt(moment) + 1e-8)).astype(g.dtype)
        return {"t": state["t"] + 1, "m": moment.astype(g.dtype), "w": w}

    half = jnp.ones(4, jnp.bfloat16)
    signature = signed(update, {"t": jnp.int32(0), "m": half, "w": half}, half)

    assert (signature.verdict, signature.promotions) == ("stable", ())


def test_what_an_average_in_float32_takes_in_becomes_float32():
    decay = np.float32(0.999)

    def update(state, _):
        average = decay * state["average"] + (1 - decay) * state["w"]
        return {"w": state["w"], "average": average}

    state = {"w": jnp.ones(4, jnp.bfloat16), "average": jnp.ones(4, jnp.float32)}

    assert not signed(update, state, jnp.ones(4)).promotions


def test_what_jax_computes_wide_by_itself_is_nobody_s_promotion():
    def update(w, x):
        return w + jnp.mean(x) + jnp.var(x) + jax.nn.softmax(x).sum() + jnp.linalg.norm(x)

    signature = signed(update, jnp.ones(4, jnp.bfloat16), jnp.ones(8, jnp.bfloat16))

    assert (signature.verdict, signature.promotions) == ("stable", ())


def test_a_product_of_what_was_promoted_is_not_cast_back():
    def update(w, x):
        return w + ((x * RATE) @ jnp.ones((4, 4))).astype(w.dtype)

    signature = signed(update, jnp.ones((4, 4), jnp.bfloat16), jnp.ones((4, 4), jnp.bfloat16))

    assert [site.source for site in signature.promotions] == [
        "return w + ((x * RATE) @ jnp.ones((4, 4))).astype(w.dtype)"
    ]


def test_what_a_scan_would_say_is_what_it_says():
    state, gradients = {"w": jnp.zeros(3, jnp.bfloat16)}, jnp.zeros(3, jnp.bfloat16)

    def update(state, gradients):
        return {"w": descend(state["w"], gradients)}

    signature = signed(update, state, gradients)

    with pytest.raises(TypeError) as refused:
        jax.lax.scan(lambda carry, _: (update(carry, gradients), None), state, None, length=2)
    assert signature.loop_error == str(refused.value).strip()


@pytest.mark.parametrize(
    ("update", "state", "rounds", "verdict"),
    [
        (lambda n: n + 1, 0, 0, "stable"),
        (lambda n: n + jnp.int32(1), 0, 1, "weak type drifts"),
        (lambda s: (s[1], s[0]), (0, jnp.int32(0)), None, "never settles"),
        (lambda h: jnp.concatenate([h, h]), jnp.zeros(1), None, "tree changes"),
        (
            lambda s: (s[0] + s[1], s[1] + s[2], s[2]),
            (jnp.int8(0), jnp.int8(0), jnp.int32(0)),
            2,
            "dtype drifts",
        ),
        (lambda s: {**s, "cache": s["w"]}, {"w": jnp.zeros(3)}, 1, "tree changes"),
        (lambda s: {"w": s["w"]}, {"w": jnp.zeros(3), "cache": jnp.zeros(3)}, 1, "tree changes"),
        (lambda w: w.astype(jnp.bfloat16), jnp.zeros(3), 1, "dtype drifts"),
        (lambda s: {"key": jax.random.split(s["key"])[0]}, {"key": jax.random.key(0)}, 0, "stable"),
        (lambda s: {"w": s["w"] + 1.0}, {"w": np.zeros(3)}, 0, "stable"),
    ],
)
def test_rounds_until_nothing_changes(update, state, rounds, verdict):
    signature = signed(update, state)

    assert (signature.rounds, signature.verdict) == (rounds, verdict)


@pytest.mark.parametrize(
    "update",
    [lambda s, _: s, lambda s, b: (s, b.sum()), lambda s, b: (b.sum(), s), lambda s, b: [b, b, s]],
)
def test_the_state_is_found_in_what_the_update_returns(update):
    state = {"w": jnp.zeros(3), "n": jnp.int32(0)}

    assert signed(update, state, jnp.zeros(5)).verdict == "stable"


def test_an_update_that_returns_no_state_is_refused():
    with pytest.raises(UsageError, match="nothing that the update returns is like the state"):
        signed(lambda _: jnp.zeros(2), {"w": jnp.zeros(3), "n": 0})


def test_an_update_that_raises_is_told_with_its_line():
    def update(w):
        return w @ jnp.zeros(5)

    with pytest.raises(NothingExaminedError, match="the update of x raises TypeError") as caught:
        signed(update, jnp.zeros(3))

    assert "test_run.py:" in caught.value.hint


def test_leaves_that_are_no_arrays_stay_out_of_the_way():
    signature = signed(lambda s: s, {"w": jnp.zeros(3), "activation": jax.nn.relu, "name": "layer"})

    assert signature.verdict == "stable"
    assert [leaf.path for leaf in signature.leaves] == ["w"]


@pytest.mark.parametrize(
    ("jit", "donated"),
    [(lambda f: f, None), (jax.jit, False), (functools.partial(jax.jit, donate_argnums=0), True)],
)
def test_donation_is_read_off_the_jitted_update(jit, donated):
    signature = signed(jit(lambda state: {"w": state["w"] + 1}), {"w": jnp.zeros(1000)})

    assert (signature.donated, signature.state_bytes) == (donated, 4000)


def test_the_arguments_that_a_jitted_step_may_donate_are_known_by_name():
    @jax.jit
    def step(params, momentum, batch):
        return params - momentum, momentum + batch

    signature = signed(step, jnp.zeros(3), jnp.ones(3), jnp.ones(3))

    assert (signature.donated, signature.donatable) == (False, ("params", "momentum"))


def test_equinox_s_jit_takes_no_names_of_arguments_to_donate():
    signature = signed(eqx.filter_jit(lambda state: state + 1), jnp.zeros(3))

    assert (signature.donated, signature.donatable) == (False, ())


def test_callbacks_are_found_with_their_line():
    def update(w):
        jax.debug.print("{}", w)
        return w

    (site,) = signed(update, jnp.zeros(3)).callbacks

    assert site.source == 'jax.debug.print("{}", w)'


def test_a_target_that_needs_values_is_called_for_real():
    """Then what it compiles itself is counted."""

    def make():
        size = int(jnp.arange(7).sum())
        return Traced(update=lambda state: state + 1, state=jnp.zeros(size))

    signature = sign(make, "x")

    assert signature.leaves[0].before == "float32[21]"
    assert signature.compilations > 0


def test_types_alone_are_enough_of_a_state():
    state = {"w": jax.ShapeDtypeStruct((10**6, 10**6), jnp.bfloat16)}

    signature = signed(lambda state: {"w": state["w"] * 2}, state)

    assert (signature.verdict, signature.state_bytes) == ("stable", 2 * 10**12)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(
    ("transform", "verdict"),
    [
        (optax.adam(1e-3), "stable"),
        (optax.MultiSteps(optax.adam(1e-3), 4), "stable"),
        (optax.lbfgs(), "weak type drifts"),
    ],
    ids=["adam", "multi-steps", "l-bfgs"],
)
@pytest.mark.usefixtures("compiling_is_forbidden")
def test_optax_by_dtype(transform, verdict, dtype):
    assert transform_signed(transform, dtype).verdict == verdict


def test_a_schedule_in_inject_hyperparams_widens_bfloat16_updates():
    transform = optax.inject_hyperparams(optax.adam)(learning_rate=optax.linear_schedule(1e-3, 0, 10))

    signature = transform_signed(transform, "bfloat16")

    assert signature.verdict == "updates widen"
    assert {leaf.after for leaf in signature.results} == {"float32[8,4]", "float32[4]"}
    assert all(leaf.sites[0].library for leaf in signature.results)


def test_multi_steps_keeps_float32_sums_of_bfloat16_gradients():
    """Mixed dtypes: https://github.com/google-deepmind/optax/issues/377."""
    signature = transform_signed(optax.MultiSteps(optax.sgd(0.1), 4), "bfloat16")

    sums = {leaf.path: leaf.before for leaf in signature.leaves if "acc_grads" in leaf.path}
    assert sums == {"acc_grads/w": "float32[8,4]", "acc_grads/b": "float32[4]"}
    assert (signature.rounds, {leaf.change for leaf in signature.results}) == (0, {None})


def test_under_x64_a_numpy_number_makes_a_float64():
    """`np.sqrt(2)` is a strong float64, unlike Python's `2.0`."""
    with jax.enable_x64(True):
        state = {"w": jnp.zeros(3, jnp.float32)}
        ill = signed(lambda s: (s, (s["w"] * np.sqrt(2)).sum()), state)
        healthy = signed(lambda s: (s, (s["w"] * 2.0).sum()), state)

    (site,) = ill.wide_sites
    assert (ill.verdict, site.dtype_from, site.dtype_to, site.partner) == (
        "64 bit appears",
        "float32",
        "float64",
        "float64[]",
    )
    assert "np.sqrt(2)" in site.source
    assert healthy.verdict == "stable"


def test_what_is_found_without_x64_and_with_it_is_told_once():
    wish = Wish(target="examples/update/train.py:ill", x64=(False, True))

    report = check_update(wish)

    messages = [finding.message for finding in report.findings]
    assert len(messages) == len(set(messages)) == 3
    assert all(message.endswith(" (x32 and x64)") for message in messages)


def l_bfgs():
    """A loop over L-BFGS as in https://github.com/google-deepmind/optax/issues/1207."""
    return optax.lbfgs()


@pytest.mark.slow
def test_l_bfgs_under_x64_has_64_bit_leaves_for_narrow_parameters():
    """In a worker each, since x64 is a setting of a whole process."""
    wish = Wish(
        target="tests.updates.trace.test_run:l_bfgs",
        params="w=float32[8,4]",
        params_dtypes=("float32", "float16"),
        x64=(False, True),
    )

    report = check_update(wish)

    assert [each.setting for each in report.signatures] == [
        "x32, params float32",
        "x32, params float16",
        "x64, params float32",
        "x64, params float16",
    ]
    assert {each.verdict for each in report.signatures} == {"weak type drifts"}
    assert [len(each.wide_leaves) for each in report.signatures] == [0, 0, 4, 4]
    assert [finding.code for finding in report.findings].count("JD505") == 2
    assert sum(each.compilations for each in report.signatures) == 0


def test_a_jax_that_was_not_tried_is_noted(monkeypatch):
    """In the report of an update too, which looks at no machine."""
    wish = Wish(target="tests.sample_updates:train_state", time_limit=60)
    monkeypatch.setattr("jaxdoctor.updates.check.versions_examined", lambda: {"jax": "99.1"})

    report = check_update(wish)

    (finding,) = [each for each in report.findings if each.code == "JD123"]
    assert finding.message.startswith("this jax (99.1) is newer than what was tried (")
