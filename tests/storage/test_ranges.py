"""Dtypes, shapes, and values in a range of a file."""

import ml_dtypes
import numpy as np
import pytest

from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import CorruptError, HostileError, TruncatedError
from jaxdoctor.storage.elements import WIDTHS, Element, element
from jaxdoctor.storage.ranges import Range, places, range_values
from jaxdoctor.storage.shapes import fits, shape


@pytest.mark.parametrize("name", WIDTHS)
def test_every_listed_dtype_exists_and_has_that_width(name):
    """The table agrees with NumPy and ml_dtypes."""
    assert Element(name).numpy().itemsize == WIDTHS[name]
    assert Element(name).numpy().name == name


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("<f4", Element("float32")),
        ("|b1", Element("bool")),
        (">i8", Element("int64", big_endian=True)),
        ("bfloat16", Element("bfloat16")),
        ("<bfloat16", Element("bfloat16")),
        ("c8", Element("complex64")),
        ("object", None),
        ("O", None),
        ("f4,(10**9,10**9)f8", None),
        ("V2", None),
        (None, None),
        (["<f4"], None),
    ],
)
def test_spellings(spelling, expected):
    """Only what stands in the table is understood; NumPy's parser is never asked."""
    assert element(spelling) == expected


def test_big_endian_values_are_read_as_what_they_are(tmp_path):
    """The byte order belongs to the element."""
    (tmp_path / "a").write_bytes(np.array([1.5, -2.0], ">f4").tobytes())
    values = range_values(
        Range(path=tmp_path / "a", offset=0, elements=2, kind=Element("float32", big_endian=True)), Budget()
    )

    assert next(values.stream()).tolist() == [1.5, -2.0]


@pytest.mark.parametrize("declared", ["3", None, 7, [1.0], [True], [[1]]])
def test_a_shape_that_is_none_is_corrupt(declared):
    """Only lists of integers are shapes."""
    with pytest.raises(CorruptError):
        shape(declared, "a")


@pytest.mark.parametrize("declared", [[-1], [1 << 63], [1 << 40, 1 << 40], [1] * 65])
def test_a_shape_that_cannot_exist_is_hostile(declared):
    """Negative, overflowing and endless shapes are refused before anything is allocated."""
    with pytest.raises(HostileError):
        shape(declared, "a")


def test_stored_bytes_must_be_what_the_shape_needs():
    """Fewer bytes are a truncation, more are corrupt."""
    fits(3, Element("float32"), 12, "a")
    with pytest.raises(TruncatedError):
        fits(3, Element("float32"), 11, "a")
    with pytest.raises(CorruptError):
        fits(3, Element("float32"), 13, "a")


def test_a_range_streams_whole_and_samples_from_end_to_end(tmp_path):
    """The stream gives every element in order; the sample stays within its bytes and sees both ends."""
    stored = np.arange(1_000_000, dtype=np.int32)
    (tmp_path / "a").write_bytes(b"head" + stored.tobytes())
    budget = Budget()
    values = range_values(
        Range(path=tmp_path / "a", offset=4, elements=stored.size, kind=Element("int32")), budget
    )

    sample = values.sample(4096)

    assert sample.nbytes <= 4096
    assert budget.bytes_read == sample.nbytes
    assert {int(sample[0]), int(sample[-1])} == {0, 999_999}
    assert np.array_equal(np.concatenate([piece.copy() for piece in values.stream()]), stored)


def test_a_range_beyond_the_file_is_truncated(tmp_path):
    """The end is checked before the first piece."""
    (tmp_path / "a").write_bytes(b"abcd")
    values = range_values(
        Range(path=tmp_path / "a", offset=0, elements=1 << 40, kind=Element("float64")), Budget()
    )

    with pytest.raises(TruncatedError):
        next(values.stream())
    with pytest.raises(TruncatedError):
        values.sample(1024)


def test_bfloat16_comes_as_bfloat16(tmp_path):
    """Values arrive in the leaf's own dtype."""
    (tmp_path / "a").write_bytes(np.array([1.0, 2.0], ml_dtypes.bfloat16).tobytes())
    values = range_values(
        Range(path=tmp_path / "a", offset=0, elements=2, kind=Element("bfloat16")), Budget()
    )

    assert values.sample(100).dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize("elements", [0, 1, 7, 100, 12345])
@pytest.mark.parametrize("most", [0, 1, 9, 100, 20000])
def test_places_stay_within_the_array_and_the_allowance(elements, most):
    """Whatever the sizes, no place is outside, and no more is read than allowed."""
    chosen = places(elements, most)

    assert all(first >= 0 and first + count <= elements for first, count in chosen)
    assert sum(count for _, count in chosen) <= most
    assert bool(chosen) == bool(elements and most)
