"""Deliveries: the worst product counts."""

from jaxdoctor.facts.delivery import Arithmetic, Deliveries, Delivery
from jaxdoctor.facts.precision import TF32_TRUNCATED


def delivery(arithmetic, bits, *, setting="default", shape="64x64 @ 64x64"):
    return Delivery(
        setting=setting,
        op="dot, 64 square",
        shape=shape,
        batched=False,
        side="left",
        arithmetic=arithmetic,
        mantissa_bits=bits,
        max_relative_error=0.0,
    )


def test_the_worst_product_speaks_for_a_setting_and_truncation_is_worse_than_rounding():
    found = Deliveries(
        machine="a card",
        products=(
            delivery(Arithmetic.F32, 23),
            delivery(Arithmetic.TF32_ROUNDED, 10),
            delivery(Arithmetic.TF32_TRUNCATED, 10),
        ),
    )

    assert found.precision("default") == TF32_TRUNCATED
    assert found.bits("default") == 10
    assert found.bits("x64") is None


def test_a_split_scheme_is_a_precision_of_its_bits():
    (product,) = Deliveries(machine="a card", products=(delivery(Arithmetic.SPLIT, 16),)).products

    assert (product.precision.name, product.precision.mantissa_bits) == ("split-16", 16)
