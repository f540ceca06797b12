"""What a checkpoint tells of itself."""

import pytest

from jaxdoctor.facts.dtypes import dtype_named
from tests.builders import checkpoint, leaf


def test_a_split_counter_is_one_count():
    """The halves of a 64-bit count are put together before anything looks at them."""
    saved = checkpoint(
        leaf("0/count/hi", "uint32", role="counter", value=1),
        leaf("0/count/lo", "uint32", role="counter", value=5),
    )

    (counter,) = saved.counters

    assert (counter.path, counter.value, counter.limit) == ("0/count", (1 << 32) + 5, (1 << 64) - 1)


def test_a_signed_lower_half_counts_as_unsigned():
    saved = checkpoint(
        leaf("count/hi", "int32", role="counter", value=0),
        leaf("count/lo", "int32", role="counter", value=-1),
    )

    assert saved.counters[0].value == (1 << 32) - 1


@pytest.mark.parametrize(
    ("dtype", "limit"),
    [
        ("int32", 2**31 - 1),
        ("uint32", 2**32 - 1),
        ("float32", 2**24),
        ("bfloat16", 2**8),
        ("float16", 2**11),
    ],
)
def test_a_counter_knows_its_limit(dtype, limit):
    """Integers end at their maximum, floats at the last integer that they hold with all before it."""
    (counter,) = checkpoint(leaf("count", dtype, role="counter", value=7)).counters

    assert counter.limit == limit


def test_a_python_number_has_no_limit():
    (counter,) = checkpoint(leaf("step", "int64", role="counter", value=7, host_scalar=True)).counters

    assert counter.limit is None


def test_dtypes_are_counted_by_role():
    saved = checkpoint(
        leaf("w", role="parameter"), leaf("b", role="parameter"), leaf("n", "int32", role="counter")
    )

    assert saved.dtypes_by_role == {"parameter": {"float32": 2}, "counter": {"int32": 1}}


def test_an_integer_type_wraps_as_hardware_does():
    assert dtype_named("int32").wrapped(2_667_577_344) == -1_627_389_952
    assert dtype_named("uint32").wrapped(2**32 + 5) == 5


@pytest.mark.parametrize(
    ("leaves", "metadata", "stated"),
    [
        ({"state/step": 7, "opt_state/0/count": 9}, {}, ("state/step", 7)),
        ({"step": 7}, {"global_step": 8}, ("global_step", 8)),
        ({"data/num_timesteps": 7}, {}, ("data/num_timesteps", 7)),
        ({"optimizer/state/0/step": 7, "env_state/step": 3}, {}, None),
    ],
)
def test_a_checkpoint_knows_the_step_inside(leaves, metadata, stated):
    counters = [leaf(path, "int32", role="counter", value=value) for path, value in leaves.items()]

    assert checkpoint(*counters, metadata=metadata).own_step == stated


def test_the_first_variable_of_an_optimizer_of_keras_counts_its_iterations():
    (counter,) = checkpoint(leaf("optimizer/vars/0", "int64", role="counter", value=7)).counters

    assert (counter.name, counter.updates) == ("iterations", True)


@pytest.mark.parametrize(
    ("leaves", "layout", "are_tables"),
    [
        ({"expint": "float64", "gamma_ratio": "complex128", "n": "int64"}, "npz", True),
        ({"expint": "float64", "w": "float64"}, "npz", False),
        ({"expint": "float32"}, "npz", False),
        ({"expint": "float64"}, "safetensors", False),
        ({"layers.0.weight": "float64"}, "hdf5", False),
    ],
)
def test_files_of_tables_are_known(leaves, layout, are_tables):
    saved = checkpoint(*(leaf(path, dtype, (3,)) for path, dtype in leaves.items()), layout=layout)

    assert saved.holds_tables is are_tables


def test_a_file_with_a_step_is_no_file_of_tables():
    assert not checkpoint(leaf("x", "float64", (3,)), layout="npz", step=5).holds_tables


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_counts_nothing(value):
    saved = checkpoint(leaf("step", "float64", role="counter", value=value, host_scalar=True))

    assert saved.counters == ()
    assert saved.own_step is None
