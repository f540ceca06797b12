"""The look at a device: what JAX's device objects tell, and settings that do not exist there."""

from types import SimpleNamespace

from jaxdoctor.machine.measuring import measure as machine
from jaxdoctor.workers.progress import SILENT


def device(kind, platform="gpu", **fields):
    return SimpleNamespace(device_kind=kind, platform=platform, memory_stats=lambda: None, **fields)


def test_a_known_card_brings_its_data_and_jax_its_capability():
    found = machine._accelerator([device("NVIDIA H200", compute_capability="9.0")] * 8)

    assert (found.card, found.market, found.fp64_ratio, found.count) == ("h200", "datacenter", 0.5, 8)
    assert found.tf32


def test_an_unknown_nvidia_card_is_told_by_its_capability():
    found = machine._accelerator([device("NVIDIA Something New", compute_capability="13.0")])

    assert (found.card, found.market, found.tf32) == (None, None, True)


def test_an_amd_card_has_no_tf32_by_name():
    found = machine._accelerator([device("AMD Instinct MI300X", compute_capability="gfx942")])

    assert (found.platform, found.tf32) == ("gpu", False)


def test_a_tpu_is_known_without_a_capability():
    found = machine._accelerator([device("TPU v5 lite", "tpu")])

    assert (found.card, found.market, found.tf32) == ("tpu-v5e", "TPU", False)


def test_a_setting_that_does_not_exist_here_is_skipped_with_its_reason():
    """A CPU has no TF32, so a preset that asks for it by name cannot be compiled; convolutions ignore it."""
    found = machine.survey(["TF32_TF32_F32"], 60.0, progress=SILENT)

    (skipped,) = found.skipped
    assert skipped.subject == "14 products at TF32_TF32_F32"
    assert "not supported by dot_general on CPU" in skipped.reason
    assert {product.op.partition(",")[0] for product in found.products} == {"conv"}


def test_when_time_is_over_the_rest_is_skipped():
    found = machine.survey(["default"], 0.0, progress=SILENT)

    (skipped,) = found.skipped
    assert skipped.subject == "16 products at default"
    assert found.products == ()
