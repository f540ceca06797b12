"""What a checkpoint and a series tell of themselves."""

import pytest

from jaxdoctor.checkpoints.reader import READERS
from jaxdoctor.facts.checkpoint import NEVER_JAX, Checkpoint, Series
from jaxdoctor.facts.dtypes import dtype_named
from tests.builders import START, checkpoint, counts, leaf, series


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


def test_a_series_lists_its_counters():
    history = counts("step", [10, 20]).histories["step"]

    assert [(saved.step, counter.value) for saved, counter in history] == [(1000, 10), (2000, 20)]


def test_the_rate_forgets_an_interval_that_went_backwards():
    """A restart or a wrap in between leaves the rate as it is."""
    run = counts("step", [1000, 2000, 500, 1500])

    assert run.rate_of("step") == pytest.approx(1000 / 3600)
    assert run.rate == pytest.approx(1000 / 3600)


def test_a_rate_needs_two_saves():
    assert series(checkpoint(step=1000, saved_at=START)).rate is None


def test_dtypes_are_counted_by_role():
    saved = checkpoint(
        leaf("w", role="parameter"), leaf("b", role="parameter"), leaf("n", "int32", role="counter")
    )

    assert saved.dtypes_by_role == {"parameter": {"float32": 2}, "counter": {"int32": 1}}


def test_an_integer_type_wraps_as_hardware_does():
    assert dtype_named("int32").wrapped(2_667_577_344) == -1_627_389_952
    assert dtype_named("uint32").wrapped(2**32 + 5) == 5


def test_formats_that_jax_does_not_restore_have_readers():
    """A renamed reader must not slip out of the list."""
    assert set(READERS.names()) >= NEVER_JAX


def test_saves_of_one_moment_tell_no_rate():
    """Files that were unpacked together have times, and those are not the run's."""
    run = Series(
        path="run",
        checkpoints=tuple(
            Checkpoint(path=f"run/{step}", format="npz", leaves=(), step=step, saved_at=1e9 + step / 1e6)
            for step in (100, 200)
        ),
    )

    assert run.rate is None
