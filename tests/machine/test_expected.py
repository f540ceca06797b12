"""What a card would deliver, through the versions of jaxlib and the flags that change it."""

import pytest

from jaxdoctor.facts.delivery import Arithmetic
from jaxdoctor.facts.precision import BF16, F32, F64, TF32, TF32_TRUNCATED
from jaxdoctor.machine.card import card_named
from jaxdoctor.machine.expected import deliveries_of_card, level_of

ADA = card_named("rtx-4090")


@pytest.mark.parametrize(
    ("jaxlib", "default", "highest"),
    [
        ("0.4.2", TF32, TF32),
        ("0.4.30", TF32, F32),
        ("0.5.0", TF32, F32),
        ("0.5.1", TF32_TRUNCATED, F32),
        ("0.5.3.dev20250301", TF32_TRUNCATED, F32),
        ("0.6.0", TF32, F32),
        ("0.10.2", TF32, F32),
    ],
)
def test_what_default_and_highest_mean_on_a_card_with_tf32(jaxlib, default, highest):
    found = deliveries_of_card(ADA, jaxlib)

    assert found.precision("default") == default
    assert found.precision("highest") == highest
    assert found.precision("x64") == F64
    assert not found.measured


@pytest.mark.parametrize("jaxlib", ["0.4.30", "0.5.3", "0.10.2", "0.11.0", "0.11.1"])
def test_high_is_tf32_somewhere_in_every_version(jaxlib):
    """In cuBLAS HIGH is TF32 always, so it may never be counted on for more."""
    assert deliveries_of_card(ADA, jaxlib).precision("high") == TF32


@pytest.mark.parametrize(
    ("jaxlib", "flags", "default"),
    [
        ("0.4.38", {"xla_gpu_triton_gemm_any": "True"}, TF32_TRUNCATED),
        ("0.5.3", {"xla_gpu_triton_gemm_any": "false"}, TF32),
        ("0.5.3", {"xla_gpu_enable_triton_gemm": "false"}, TF32),
        ("0.10.2", {"xla_gpu_default_to_alg_dot_bf16_bf16_f32": "true"}, BF16),
    ],
)
def test_flags_change_the_kernels(jaxlib, flags, default):
    assert deliveries_of_card(ADA, jaxlib, xla_flags=flags).precision("default") == default


def test_the_tf32_override_reaches_libraries_and_not_triton():
    found = deliveries_of_card(ADA, "0.10.2", tf32_override="0")
    without_triton = deliveries_of_card(
        ADA, "0.10.2", tf32_override="0", xla_flags={"xla_gpu_enable_triton_gemm": "0"}
    )

    assert found.precision("default") == TF32
    assert {product.arithmetic for product in found.at("default") if product.op.startswith("conv")} == {
        Arithmetic.F32
    }
    assert without_triton.precision("default") == F32


@pytest.mark.parametrize("name", ["t4", "v100", "rtx-2080-ti", "p100"])
def test_cards_without_tf32_multiply_float32_as_float32(name):
    found = deliveries_of_card(card_named(name), "0.5.3")

    assert {found.precision(setting) for setting in ("default", "high", "highest")} == {F32}


def test_a_tpu_multiplies_as_bfloat16_and_its_float64_is_not_known():
    found = deliveries_of_card(card_named("tpu-v5e"), "0.10.2")

    assert found.precision("default") == BF16
    assert found.bits("high") == 16
    assert found.precision("highest") == F32
    assert found.precision("x64") is None


def test_small_and_vector_products_stay_float32():
    """A policy at batch 1 and a value head are no matrix products to XLA:GPU."""
    exact = {
        (product.op, product.batched)
        for product in deliveries_of_card(ADA, "0.10.2").at("default")
        if product.arithmetic is Arithmetic.F32
    }

    assert ("dot, policy layer", False) in exact
    assert ("dot, policy layer", True) not in exact
    assert ("dot, mass matrix", False) not in exact


def test_a_preset_gets_what_its_name_says():
    found = deliveries_of_card(ADA, "0.10.2", settings=["TF32_TF32_F32_X3", "F32_F32_F32"])

    assert found.bits("TF32_TF32_F32_X3") == 22
    assert found.precision("F32_F32_F32") == F32


@pytest.mark.parametrize(
    ("value", "level"),
    [(None, "default"), ("tensorfloat32", "high"), ("bfloat16", "default"), ("float32", "highest")],
)
def test_jax_words_for_levels_are_not_literal(value, level):
    assert level_of(value) == level


def test_the_bfloat16_flag_leaves_the_other_levels_alone():
    """As compiled for an RTX 4090 with jaxlib 0.10.2: benchmarks/compile_for_gpu.py."""
    flags = {"xla_gpu_default_to_alg_dot_bf16_bf16_f32": "true"}
    found = deliveries_of_card(ADA, "0.10.2", xla_flags=flags)

    assert found.precision("highest") == F32
    assert found.precision("high") == TF32
