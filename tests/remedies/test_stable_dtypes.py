"""stable_dtypes: a contract around any transformation."""

import jax
import jax.numpy as jnp
import optax
import pytest

from jaxdoctor.remedies import stable_dtypes

# What is lost by a cast is said; each test that is about it looks for its own words.
pytestmark = pytest.mark.filterwarnings("ignore:stable_dtypes casts")

PARAMS = {"w": jnp.ones((8, 4)), "b": jnp.ones(4)}


def loss(params):
    return jnp.sum(params["w"] ** 2) + jnp.sum(params["b"] ** 2)


def types(tree):
    return [
        (leaf.dtype, leaf.shape, leaf.weak_type) for leaf in jax.tree.leaves(jax.eval_shape(lambda: tree))
    ]


def test_l_bfgs_keeps_its_weak_types():
    """https://github.com/google-deepmind/optax/issues/1207: the state drifts in the first update."""
    transform = optax.lbfgs()
    given = transform.init(PARAMS)
    extra = {"value": loss(PARAMS), "grad": PARAMS, "value_fn": loss}

    _, drifted = jax.eval_shape(lambda: transform.update(PARAMS, given, PARAMS, **extra))
    _, kept = jax.eval_shape(lambda: stable_dtypes(transform).update(PARAMS, given, PARAMS, **extra))

    assert [(leaf.dtype, leaf.weak_type) for leaf in jax.tree.leaves(drifted)] != [
        t[::2] for t in types(given)
    ]
    assert [(leaf.dtype, leaf.weak_type) for leaf in jax.tree.leaves(kept)] == [t[::2] for t in types(given)]


def drifting():
    """A transformation whose average becomes float32 and whose count becomes a float."""

    def init(params):
        return {"average": jax.tree.map(jnp.zeros_like, params), "count": jnp.zeros((), jnp.int32)}

    def update(updates, state, params=None):
        average = jax.tree.map(lambda a, u: jnp.float32(0.9) * a + u, state["average"], updates)
        return updates, {"average": average, "count": state["count"] + 1.0}

    return optax.GradientTransformation(init, update)


def test_a_transformation_that_drifts_goes_through_a_scan():
    params = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), PARAMS)
    transform = stable_dtypes(drifting())

    def step(state, _):
        return transform.update(params, state, params)[1], None

    with pytest.warns(UserWarning, match="moving average"):
        state, _ = jax.lax.scan(step, transform.init(params), None, length=3)

    assert state["average"]["w"].dtype == jnp.bfloat16
    assert (state["count"].dtype, int(state["count"])) == (jnp.int32, 3)


def test_leaves_can_be_left_free():
    params = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), PARAMS)
    transform = stable_dtypes(drifting(), free=["average/*"])

    _, state = transform.update(params, transform.init(params), params)

    assert state["average"]["w"].dtype == jnp.float32
    assert state["count"].dtype == jnp.int32


def test_leaves_that_appear_cannot_be_mended():
    transform = stable_dtypes(optax.monitor({"norm": optax.tree.norm}))

    with pytest.raises(TypeError, match="leaves change"):
        transform.update(PARAMS, transform.init(PARAMS), PARAMS)


@pytest.mark.parametrize("make", [lambda: optax.adamw(1e-3), lambda: optax.MultiSteps(optax.adam(1e-3), 4)])
def test_a_stable_transformation_compiles_to_the_same_program(make):
    """No operation is added: the optimized programs are equal word for word."""
    transform = make()
    transform = getattr(transform, "gradient_transformation", lambda: transform)()
    state = transform.init(PARAMS)

    def program(wrapped):
        def step(updates, state, params):
            return wrapped.update(updates, state, params)

        # What is left out are the source lines, which differ by the wrapper's own frame.
        lowered = jax.jit(step).lower(PARAMS, state, PARAMS)
        text = lowered.compile().as_text()
        return [line.partition(", metadata=")[0] for line in text.splitlines() if " = " in line]

    plain, kept = program(transform), program(stable_dtypes(transform))

    assert len(plain) > 10
    assert kept == plain


def test_it_is_the_kind_of_transformation_that_it_wraps():
    """Optax asks a transformation's type before it hands extra arguments on."""
    assert isinstance(stable_dtypes(optax.lbfgs()), optax.GradientTransformationExtraArgs)
    assert type(stable_dtypes(optax.scale(1.0))) is optax.GradientTransformation
    optax.chain(stable_dtypes(optax.scale(1.0)), stable_dtypes(optax.sgd(0.1))).init(PARAMS)


def counting(state, batch):
    """A step of the user's, whose count becomes a float and whose mean becomes weak."""
    return {"count": state["count"] + 1.0, "mean": jnp.asarray(batch).mean() * 0 + 0.5}, batch.sum()


STATE = {"count": jnp.zeros((), jnp.int32), "mean": jnp.zeros(())}


def test_a_plain_step_keeps_its_state_and_leaves_the_rest():
    batch = jnp.ones(3)

    with pytest.warns(UserWarning, match="count from float32 back to int32, where fractions are cut off"):
        state, loss = stable_dtypes(counting)(STATE, batch)

    assert types(state) == types(STATE)
    assert loss == 3


def test_it_decorates_with_and_without_arguments():
    @stable_dtypes
    def bare(state):
        return {"count": state["count"] + 1.5}

    @stable_dtypes(free=["count"])
    def free(state):
        return {"count": state["count"] + 1.5}

    start = {"count": jnp.zeros((), jnp.int32)}

    assert bare.__name__ == "bare"
    with pytest.warns(UserWarning, match="fractions"):
        assert bare(start)["count"].dtype == jnp.int32
    assert free(start)["count"].dtype == jnp.float32


def test_several_parts_of_a_state_keep_theirs_and_a_loss_none():
    def step(params, moments, batch):
        grown = jax.tree.map(lambda leaf: leaf * jnp.float32(1.5), (params, moments))
        return *grown, batch.mean()

    params, moments = ({"w": jnp.ones(2, jnp.int32)}, {"w": jnp.ones(2, jnp.int32)})

    with pytest.warns(UserWarning, match="fractions"):
        answer = stable_dtypes(step)(params, moments, jnp.ones(2))

    assert [leaf.dtype for leaf in jax.tree.leaves(answer)] == [jnp.int32, jnp.int32, jnp.float32]


def test_multi_steps_go_through_a_scan():
    transform = stable_dtypes(optax.MultiSteps(optax.lbfgs(linesearch=None), 2))

    def step(state, _):
        return transform.update(PARAMS, state, PARAMS)[1], None

    state, _ = jax.lax.scan(step, transform.init(PARAMS), None, length=3)

    assert transform.has_updated(state).shape == ()


def test_an_average_that_is_rounded_back_is_said():
    """In bfloat16 it stands still: 0.999 is 1 there."""
    params = {"w": jnp.ones(2, jnp.bfloat16)}
    transform = stable_dtypes(drifting())

    with pytest.warns(UserWarning, match=r"average/w from float32 back to bfloat16"):
        jax.eval_shape(lambda: transform.update(params, transform.init(params), params))


def test_what_is_no_step_is_refused():
    with pytest.raises(TypeError, match="neither a function nor has an update"):
        stable_dtypes(3)
