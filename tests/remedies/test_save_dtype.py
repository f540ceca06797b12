"""save_dtype: casts for files, with what they cost."""

import ast

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxdoctor.remedies import save_dtype
from jaxdoctor.remedies.save_dtype_ import SecondMomentError


def test_bfloat16_to_float32_loses_nothing():
    tree = {"w": jnp.array([1.5, -3e38, 1e-40], jnp.bfloat16), "step": jnp.int32(3)}

    saved = save_dtype(tree, "float32")

    assert (saved.tree["w"].dtype, saved.tree["step"].dtype) == (jnp.float32, jnp.int32)
    assert [loss.path for loss in saved.losses] == ["w"]
    assert saved.worst.exact


@pytest.mark.parametrize("array", [jnp.asarray, np.asarray])
def test_the_loss_of_the_reverse_is_told(array):
    """1/3 in 8 bits, a number too large for float16 and one too small."""
    saved = save_dtype({"w": array(np.array([1 / 3, 1e6, 1e-9, 0, np.nan], np.float32))}, "float16")

    (loss,) = saved.losses
    third = np.float32(1 / 3)
    assert loss.max_relative_error == pytest.approx(abs(np.float16(third) - third) / third)
    assert (loss.to_infinity, loss.to_zero, loss.exact) == (1, 1, False)


def test_random_weights_stay_within_half_an_ulp_of_bfloat16():
    weights = np.random.default_rng(0).normal(size=10_000).astype(np.float32)

    (loss,) = save_dtype({"w": weights}, "bfloat16").losses

    # Rounding to nearest with 8 significant bits.
    assert 2**-10 < loss.max_relative_error <= 2**-8


def test_second_moments_are_refused_below_float32():
    state = optax.adam(1e-3).init({"w": jnp.ones(3)})

    with pytest.raises(
        SecondMomentError, match="0/nu/w is a second moment: save it in float32, not in bfloat16"
    ):
        save_dtype(state, "bfloat16")


def test_a_policy_by_pattern_takes_the_first_that_fits():
    tree = {"params": {"w": jnp.ones(3)}, "opt_state": optax.adam(1e-3).init({"w": jnp.ones(3)})}

    saved = save_dtype(tree, {"opt_state/*": "float32", "params/*": "bfloat16"})

    assert saved.tree["params"]["w"].dtype == jnp.bfloat16
    assert saved.tree["opt_state"][0].nu["w"].dtype == jnp.float32
    assert [loss.path for loss in saved.losses] == ["params/w"]


def test_an_attention_s_values_are_no_second_moment():
    """Flax calls both `v`; only inside an optimizer's state is it one."""
    saved = save_dtype({"params": {"attention": {"v": jnp.ones(3)}}}, "bfloat16")

    assert saved.tree["params"]["attention"]["v"].dtype == jnp.bfloat16
    with pytest.raises(SecondMomentError):
        save_dtype({"opt_state": {"v": jnp.ones(3)}}, "float16")


def test_nothing_to_cast_is_said():
    assert save_dtype({"w": jnp.ones(3)}, "float32").worst is None


@pytest.mark.parametrize(
    ("dtype", "words"), [("int32", "cut values off"), ("bf16", "did you mean 'bfloat16'")]
)
def test_only_floating_dtypes_are_taken(dtype, words):
    with pytest.raises(TypeError, match=words):
        save_dtype({"w": jnp.ones(2) * 1.7}, dtype)


def test_a_pattern_that_fits_nothing_is_named():
    with pytest.warns(UserWarning, match="'params/\\*' fits no floating-point leaf"):
        saved = save_dtype({"w": jnp.ones(2)}, {"params/*": "bfloat16", "w": "float16"})

    assert saved.unused == ("params/*",)


def test_the_policy_that_a_refusal_names_is_taken():
    """What is advised has been applied."""
    tree = {"opt": {"nu": {"w": jnp.ones(2)}, "mu": {"w": jnp.ones(2)}}, "w": jnp.ones(2)}
    with pytest.raises(ValueError, match="second moment") as refused:
        save_dtype(tree, "bfloat16")

    policy = ast.literal_eval(str(refused.value).partition("by the policy ")[2])

    assert {loss.path for loss in save_dtype(tree, policy).losses} == {"opt/mu/w", "w"}
