"""Rounding to a run-time width, against XLA's own."""

import jax
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jaxdoctor.programs.rounding import round_array, round_mantissa

CORNERS = [
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x00000FFF, 0x007FFFFF, 0x00800000,  # zero to subnormal
    0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000,  # the largest and infinity
    0x7FC00000, 0x7F800001, 0xFFC12345, 0x7FFFFFFF, 0x7FA00000,  # NaN, quiet and signalling
    0x3F801000, 0x3F803000, 0x3F800FFF, 0x3F801001,  # ties at 10 bits, and their neighbours
]  # fmt: skip
PATTERNS = st.lists(st.one_of(st.integers(0, 2**32 - 1), st.sampled_from(CORNERS)), min_size=64, max_size=64)

rounding = jax.jit(round_mantissa)
reduced = jax.jit(jax.lax.reduce_precision, static_argnums=(1, 2))


def floats(patterns):
    return np.array(patterns, np.uint32).view(np.float32)


def pattern(values):
    return np.asarray(values).view(np.uint32).tolist()


@given(patterns=PATTERNS, bits=st.integers(0, 23))
@example(patterns=(CORNERS * 4)[:64], bits=10)
def test_nearest_is_bit_equal_to_reduce_precision(patterns, bits):
    """Whatever the bits of a float32 say, the run-time width rounds it as the static one does."""
    values = floats(patterns)

    assert pattern(rounding(values, np.int32(bits), np.bool_(False))) == pattern(reduced(values, 8, bits))


@given(patterns=PATTERNS, bits=st.integers(0, 23), toward_zero=st.booleans())
@example(patterns=(CORNERS * 4)[:64], bits=10, toward_zero=False)
def test_numpy_rounds_as_jax_does(patterns, bits, toward_zero):
    """One function for both: an inspected model and a replayed one lose the same bits."""
    values = floats(patterns)

    ours = round_array(values, bits, toward_zero=toward_zero)

    assert type(ours) is np.ndarray
    assert pattern(ours) == pattern(rounding(values, np.int32(bits), np.bool_(toward_zero)))


@given(patterns=PATTERNS, bits=st.integers(0, 23))
def test_truncation_clears_the_dropped_bits_and_nothing_else(patterns, bits):
    """Toward zero, only low mantissa bits go, and a NaN stays the NaN it was."""
    values = floats(patterns)
    kept = np.uint32(0xFFFFFFFF << (23 - bits) & 0xFFFFFFFF)
    expected = np.where(np.isnan(values), values.view(np.uint32), values.view(np.uint32) & kept)

    assert pattern(rounding(values, np.int32(bits), np.bool_(True))) == expected.tolist()


@pytest.mark.parametrize("toward_zero", [False, True])
def test_all_bits_leave_every_value_as_it_is(toward_zero):
    values = floats(CORNERS)

    assert pattern(rounding(values, np.int32(23), np.bool_(toward_zero))) == CORNERS


def test_one_compiled_program_takes_every_width():
    """The width is an argument, so a sweep compiles once."""
    values = floats(CORNERS)
    compiled = jax.jit(round_mantissa).lower(values, np.int32(0), np.bool_(False)).compile()

    for bits in range(24):
        assert pattern(compiled(values, np.int32(bits), np.bool_(False))) == pattern(reduced(values, 8, bits))
