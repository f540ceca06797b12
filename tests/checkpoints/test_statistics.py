"""Statistics: what one pass over values sees."""

import ml_dtypes
import numpy as np
import pytest

from jaxdoctor.checkpoints.statistics import DETAILED, SMALL_BYTES, Depth, number, statistics_of, summarize
from jaxdoctor.facts.leaf import Leaf, Values

FLOATS = [
    np.float16,
    np.float32,
    np.float64,
    ml_dtypes.bfloat16,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
]


def census(values, pieces=1):
    values = np.asarray(values)
    return summarize(np.array_split(values, pieces), values.dtype.name, values.size)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("values", [[1.5, -2, 0.25], [-3, -0.5], [0, 0], [-0.0, 0.0], [4, 2], [0.5]], ids=str)
def test_extremes_are_those_of_numpy(dtype, values):
    """Whatever the signs, and through the bits, minimum and maximum are NumPy's."""
    array = np.array(values, dtype)

    seen = census(array)

    assert (seen.minimum, seen.maximum) == (float(min(array)), float(max(array)))
    assert seen.nonfinite == 0


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2]
)
def test_nonfinite_values_are_counted_by_kind(dtype):
    array = np.array([1, np.nan, np.inf, -np.inf, -np.nan, -2], dtype)

    seen = census(array, pieces=3)

    assert (seen.nan, seen.positive_infinity, seen.negative_infinity) == (2, 1, 1)
    assert seen.first_nonfinite == 1
    assert (seen.minimum, seen.maximum) == (-2, 1)


def test_a_float8_without_infinity_has_nan():
    assert census(np.array([1, np.nan], ml_dtypes.float8_e4m3fn)).nan == 1


def test_all_values_may_be_missing():
    """A leaf of NaN has no extremes, and is not taken for zeros."""
    seen = census(np.full(5, np.nan, np.float32))

    assert (seen.nan, seen.minimum, seen.maximum) == (5, None, None)


def test_integers_stay_exact():
    """A 64-bit count does not pass through a float on its way."""
    seen = census(np.array([2**62 + 1, -3], np.int64))

    assert (seen.minimum, seen.maximum) == (-3, 2**62 + 1)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_a_complex_value_is_bad_when_one_part_is(dtype):
    seen = census(np.array([1 + 1j, complex(0, np.nan)], dtype))

    assert (seen.nan, seen.first_nonfinite, seen.seen) == (1, 1, 2)


def test_foreign_byte_order_is_understood():
    seen = summarize([np.array([1.0, -4.0], ">f4")], "float32", 2)

    assert (seen.minimum, seen.maximum) == (-4, 1)


def test_zeros_signs_and_subnormals_are_counted():
    seen = census(np.array([0, 0, -1, 1e-40], np.float32))

    assert (seen.zeros, seen.negatives, seen.subnormals, seen.sampled) == (2, 1, 1, 4)


def test_the_detailed_look_is_bounded():
    seen = census(np.ones(10 * DETAILED, np.float32), pieces=7)

    assert seen.seen == 10 * DETAILED
    assert seen.sampled <= DETAILED


def noise(kind=np.float32, size=4000):
    return np.random.default_rng(0).standard_normal(size).astype(kind).astype(np.float32)


@pytest.mark.parametrize(
    ("values", "clear"),
    [
        (noise(), 0),
        (noise(ml_dtypes.bfloat16), 16),
        (noise(np.float16), 13),
        ((noise().view(np.uint32) & 0xFFFFE000).view(np.float32), 13),
    ],
    ids=["float32", "bfloat16", "float16", "tf32"],
)
def test_low_bits_tell_the_precision_that_values_went_through(values, clear):
    assert census(values).low_bits_clear == clear


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(5000),
        np.ones(5000),
        np.eye(70).ravel(),
        np.arange(5000) % 512,
        np.arange(5000) % 64 / 4,
        np.arange(5000) % 1000 / 1024,
        np.full(5000, 0.3125),
    ],
    ids=["zeros", "ones", "one-hot", "integers", "quarters", "a grid", "one value"],
)
def test_plain_values_tell_nothing_of_precision(values):
    """What fits any precision by nature is set aside."""
    assert census(values.astype(np.float32)).low_bits_clear is None


def lazy(array):
    asked = []

    def stream():
        asked.append("all")
        yield from np.array_split(array.ravel(), 4)

    def sample(size):
        asked.append(size)
        return array.ravel()[: size // array.itemsize]

    values = Values(stream=stream, sample=sample)
    return Leaf(path="w", dtype=array.dtype.name, shape=array.shape, values=values), asked


def test_a_large_leaf_is_sampled_and_a_small_one_read_whole():
    large, asked_of_large = lazy(np.ones(SMALL_BYTES, np.float32))
    small, asked_of_small = lazy(np.ones(10, np.float32))

    assert not statistics_of(large, Depth.SAMPLE).whole
    assert statistics_of(small, Depth.SAMPLE).whole
    assert (asked_of_large, asked_of_small) == ([SMALL_BYTES], ["all"])


def test_deep_reads_all_and_says_how_far_it_is():
    large, _ = lazy(np.ones(SMALL_BYTES, np.float32))
    heard = []

    assert statistics_of(large, Depth.ALL, heard.append).whole
    assert sum(heard) == 4 * SMALL_BYTES


def test_metadata_only_reads_nothing():
    leaf, asked = lazy(np.ones(3, np.float32))

    assert statistics_of(leaf, Depth.NONE) is None
    assert asked == []


def test_equal_entries_of_all_devices_are_one_number():
    """What pmap leaves behind is a scalar once for each device."""
    leaf, _ = lazy(np.full(8, 7, np.int32))

    assert number(statistics_of(leaf, Depth.SAMPLE), leaf) == 7


def test_different_entries_are_no_number():
    leaf, _ = lazy(np.arange(8, dtype=np.int32))

    assert number(statistics_of(leaf, Depth.SAMPLE), leaf) is None


def test_a_dtype_without_order_has_no_statistics():
    assert summarize([np.array([b"a"])], "bytes8", 1) is None


def test_no_index_is_told_where_the_order_is_another():
    """The place in a stream is an index only where the file keeps the array's own order."""
    values = np.array([1.0, np.nan], np.float32)
    for in_order, first in ((True, 1), (False, None)):
        read = Values(stream=lambda: iter([values]), sample=lambda _: values, in_order=in_order)
        seen = statistics_of(Leaf(path="w", dtype="float32", shape=(2,), values=read), Depth.ALL)

        assert (seen.nan, seen.first_nonfinite) == (1, first)


def test_a_typical_magnitude_leaves_out_the_outlier():
    seen = census(np.concatenate([np.ones(999), [1e9]]).astype(np.float32))

    assert (seen.typical, seen.largest_magnitude) == (1.0, 1e9)


def test_the_root_mean_square_forgets_what_is_not_finite():
    assert census(np.float32([3.0, -3.0, np.nan])).rms == pytest.approx(3.0)


def test_equal_values_have_equal_fingerprints():
    first = np.arange(100, dtype=np.float32)

    assert census(first).fingerprint == census(first.copy()).fingerprint
    assert census(first).fingerprint != census(first + 1).fingerprint


def test_no_square_overflows_in_the_root_mean_square():
    assert census(np.float32([3e30, 3e30, 3e30])).rms == pytest.approx(3e30)
    assert census(np.float32([3e-30, -3e-30])).rms == pytest.approx(3e-30)
