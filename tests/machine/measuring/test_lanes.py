"""The lanes name an arithmetic: proven on emulations of each, for every product and both operands."""

import ml_dtypes
import numpy as np
import pytest

from jaxdoctor.facts.delivery import Arithmetic
from jaxdoctor.machine.measuring.lanes import classify, lane_values
from jaxdoctor.machine.measuring.operands import SIDES, lane_operands
from jaxdoctor.machine.products import PRODUCTS, Convolution


def masked(values, add):
    return ((values.view(np.uint32) + np.uint32(add)) & np.uint32(0xFFFFE000)).view(np.float32)


def tf32_away(values):
    """`cvt.rna.tf32`: to nearest, ties away from zero."""
    return masked(values, 0x1000)


def tf32_truncated(values):
    return masked(values, 0)


def tf32_even(values):
    bits = values.view(np.uint32)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) & np.uint32(0xFFFFE000)).view(np.float32)


def bf16(values):
    return values.astype(ml_dtypes.bfloat16).astype(np.float32)


def bf16_truncated(values):
    return (values.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def twice(rounded):
    """The high part and the rest, each rounded: bfloat16_3x, TF32 in three passes."""
    return lambda values: rounded(values) + rounded(values - rounded(values))


def thrice(rounded):
    return lambda values: twice(rounded)(values) + rounded(values - twice(rounded)(values))


def fewer_bits(values):
    """Five bits of mantissa, a width that no card has."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(mantissa * 64), exponent - 6)


SCHEMES = [
    (lambda values: values, Arithmetic.F32, 23),
    (tf32_away, Arithmetic.TF32_ROUNDED, 10),
    (tf32_even, Arithmetic.TF32_ROUNDED, 10),
    (tf32_truncated, Arithmetic.TF32_TRUNCATED, 10),
    (bf16, Arithmetic.BF16, 7),
    (bf16_truncated, Arithmetic.UNKNOWN, 7),
    (twice(bf16), Arithmetic.SPLIT, 16),
    (thrice(bf16), Arithmetic.F32, 23),
    (twice(tf32_away), Arithmetic.SPLIT, 22),
    (twice(tf32_truncated), Arithmetic.SPLIT, 20),
    (fewer_bits, Arithmetic.UNKNOWN, 5),
]


@pytest.mark.parametrize(("scheme", "arithmetic", "bits"), SCHEMES)
def test_an_arithmetic_is_named_by_what_it_leaves(scheme, arithmetic, bits):
    sent = lane_values(np.float32)

    assert classify(sent, scheme(sent).astype(np.float32)) == (arithmetic, bits)


def test_float64_is_told_from_float32_that_stands_in_for_it():
    """Under x64 a product that still runs in float32 keeps 23 of 52 bits."""
    sent = lane_values(np.float64)

    assert classify(sent, sent) == (Arithmetic.F64, 52)
    assert classify(sent, sent.astype(np.float32).astype(np.float64)) == (Arithmetic.F32, 23)


def test_float16_overflows_and_is_not_taken_for_tf32():
    """It keeps 10 bits too, but not the exponents."""
    sent = lane_values(np.float32)
    with np.errstate(over="ignore"):
        got = sent.astype(np.float16).astype(np.float32)

    assert classify(sent, got) == (Arithmetic.UNKNOWN, 0)


def test_one_wrong_lane_is_enough_for_another_name():
    sent = lane_values(np.float32)
    got = tf32_away(sent)
    got[-1] = np.nextafter(got[-1], np.float32(np.inf))

    assert classify(sent, got)[0] is Arithmetic.UNKNOWN


def exact_product(product, left, right):
    if not isinstance(product, Convolution):
        return left @ right
    edge = product.kernel // 2
    padded = np.pad(left, ((0, 0), (edge, edge), (edge, edge), (0, 0)))
    result = np.zeros((*product.left[:3], product.channels_out), left.dtype)
    for down in range(product.kernel):
        for across in range(product.kernel):
            window = padded[:, down : down + product.size, across : across + product.size]
            result += window @ right[down, across]
    return result


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.shape)
def test_every_product_becomes_lanes(product, side):
    """Rounding the operands of the whole product is named as rounding the values alone is."""
    for scheme, arithmetic in ((tf32_away, Arithmetic.TF32_ROUNDED), (twice(bf16), Arithmetic.SPLIT)):
        sent, got = [], []
        for pair in lane_operands(product, side, np.float32):
            result = exact_product(product, scheme(pair.left), scheme(pair.right))
            sent.append(pair.sent[pair.lanes])
            got.append(result[pair.lanes])

        assert classify(np.concatenate(sent), np.concatenate(got))[0] is arithmetic


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.shape)
def test_all_values_go_through_every_product_unharmed(product, side):
    pairs = list(lane_operands(product, side, np.float32))

    assert set(lane_values(np.float32)) == set(np.concatenate([pair.sent[pair.lanes] for pair in pairs]))
    for pair in pairs:
        exact = exact_product(product, pair.left, pair.right)
        assert np.array_equal(exact[pair.lanes], pair.sent[pair.lanes])
