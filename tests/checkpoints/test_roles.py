"""What each leaf is for."""

import pytest

from jaxdoctor.checkpoints.roles import Assignment, assignment, expected_dtype, role_of
from jaxdoctor.errors import UnknownNameError, UsageError
from jaxdoctor.facts.leaf import Leaf, Role


@pytest.mark.parametrize(
    ("path", "dtype", "shape", "role"),
    [
        # Brax, written by its checkpoint functions
        ("0/count/hi", "uint32", (), "counter"),
        ("0/count/lo", "uint32", (), "counter"),
        ("0/count", "float32", (), "counter"),
        ("0/mean/state", "float32", (12,), "statistic"),
        ("0/summed_variance", "float32", (12,), "statistic"),
        ("1/params/hidden_0/kernel", "float32", (12, 32), "parameter"),
        ("env_steps/hi", "uint32", (8,), "counter"),
        # optax and flax
        ("opt_state/0/count", "int32", (), "counter"),
        ("opt_state/0/nu/params/Dense_0/kernel", "float32", (4, 4), "optimizer"),
        ("opt_state/0/mu/params/Dense_0/bias", "bfloat16", (4,), "optimizer"),
        ("opt_state/mini_step", "int32", (), "counter"),
        ("opt_state/gradient_step", "int32", (), "counter"),
        ("opt_state/total_notfinite", "int32", (), "counter"),
        ("step", "int32", (), "counter"),
        ("params/Dense_0/kernel", "float32", (4, 4), "parameter"),
        ("batch_stats/BatchNorm_0/mean", "float32", (4,), "statistic"),
        # Flax NNX
        ("optimizer/step/value", "uint32", (), "counter"),
        ("model/rngs/default/key/value", "uint32", (2,), "key"),
        ("model/rngs/default/count/value", "uint32", (), "counter"),
        # T5X
        ("optimizer/state/step", "int32", (), "counter"),
        ("optimizer/state/param_states/encoder/wi/kernel/v_row", "float32", (4,), "optimizer"),
        ("optimizer/target/encoder/wi/kernel", "float32", (4, 4), "parameter"),
        # torch
        ("state/0/step", "float32", (), "counter"),
        ("state/0/exp_avg_sq", "float32", (4, 4), "optimizer"),
        ("layers.0.running_mean", "float32", (4,), "statistic"),
        ("layers.0.num_batches_tracked", "int64", (), "counter"),
        ("model.embed.weight", "float32", (4, 4), "parameter"),
        # Keras 3 numbers the variables of an optimizer
        ("optimizer/vars/0", "int64", (), "counter"),
        ("optimizer/vars/1", "float32", (), "optimizer"),
        ("layers/dense/vars/0", "int32", (), "other"),
        # keys, and what only looks like one
        ("rng", "uint32", (2,), "key"),
        ("state/key", "key<fry>", (), "key"),
        ("keys", "uint32", (8, 2), "key"),
        ("decoder/attention/key/kernel", "float32", (4, 4), "parameter"),
        # names of settings, and of things that are no counters
        ("warmup_steps", "int32", (), "other"),
        ("max_steps", "int32", (), "other"),
        ("goal", "int32", (), "other"),
        ("last_action", "int32", (), "other"),
        ("env_state/info/steps", "float32", (4096,), "parameter"),
        ("metrics/loss", "float32", (), "metric"),
        ("callbacks/ModelCheckpoint/best_model_score", "float32", (), "metric"),
        ("eval/mean_reward", "float64", (), "metric"),
        ("params/value_loss/kernel", "float32", (4, 4), "parameter"),
        # Keras 2 and TensorFlow put the number of an output behind a name
        ("optimizer_weights/Adam/iteration:0", "int64", (), "counter"),
        ("lr", "float32", (), "other"),
    ],
)
def test_a_role_follows_from_path_dtype_and_shape(path, dtype, shape, role):
    assert role_of(Leaf(path=path, dtype=dtype, shape=shape)) == role


def test_what_the_user_says_wins():
    stated = [assignment("*/visits=counter")]

    assert role_of(Leaf(path="tree/visits", dtype="int32", shape=()), stated) is Role.COUNTER


def test_what_the_reader_knew_stands():
    leaf = Leaf(path="x", dtype="float32", shape=(3,), role=Role.METRIC)

    assert role_of(leaf) is Role.METRIC


def test_a_pattern_may_hold_an_equals_sign():
    assert assignment("a=b=key") == Assignment("a=b", Role.KEY)


@pytest.mark.parametrize("text", ["visits", "=counter"])
def test_a_role_without_a_pattern_is_misuse(text):
    with pytest.raises(UsageError):
        assignment(text)


def test_an_unknown_role_names_the_nearest():
    with pytest.raises(UnknownNameError) as caught:
        assignment("x=countr")

    assert "did you mean 'counter'?" in caught.value.hint


def test_an_expected_dtype_may_shorten_its_role():
    assert expected_dtype("param=float32") == (Role.PARAMETER, "float32")


@pytest.mark.parametrize("text", ["parameter", "parameter=floaty"])
def test_an_expected_dtype_must_be_one(text):
    with pytest.raises(UsageError):
        expected_dtype(text)
