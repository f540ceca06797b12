"""stable_dtypes: a contract around any transformation."""

import jax
import jax.numpy as jnp
import optax
import pytest

from jaxdoctor.remedies import stable_dtypes

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
