"""A count that a checkpoint holds."""

import pytest

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


def test_the_first_variable_of_an_optimizer_of_keras_counts_its_iterations():
    (counter,) = checkpoint(leaf("optimizer/vars/0", "int64", role="counter", value=7)).counters

    assert (counter.name, counter.updates) == ("iterations", True)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_counts_nothing(value):
    saved = checkpoint(leaf("step", "float64", role="counter", value=value, host_scalar=True))

    assert saved.counters == ()
    assert saved.own_step is None
