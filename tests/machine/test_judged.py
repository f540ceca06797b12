"""The machine as a whole: measured here, taken from a card, and with settings that JAX dies of."""

import os

import pytest

from jaxdoctor.errors import UnknownNameError
from jaxdoctor.facts.delivery import Arithmetic
from jaxdoctor.facts.precision import F64, TF32
from jaxdoctor.machine import devices
from jaxdoctor.machine.judged import examine_machine
from jaxdoctor.workers.task import Task


@pytest.fixture(autouse=True)
def plain_variables(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("JAX_", "XLA_", "NVIDIA_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")


def fake_nvidia_smi(folder, monkeypatch, row):
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\necho '{row}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_a_cpu_is_measured_and_stands_for_any_card_with_tf32():
    """All settings are float32 here, which is one line; what is judged is TF32."""
    found = examine_machine()

    float32 = [product for product in found.measured.products if product.setting != "x64"]
    assert {product.arithmetic for product in float32} == {Arithmetic.F32}
    assert len({(product.op, product.shape) for product in float32}) == 16
    assert {product.arithmetic for product in found.measured.at("x64")} == {Arithmetic.F64}
    assert {product.side for product in found.measured.products} == {"left", "right"}
    assert max(product.max_relative_error for product in found.measured.at("highest")) < 1e-5
    assert all(product.milliseconds > 0 for product in found.measured.products)
    assert (
        found.environment.assumed
        == "no accelerator here; judging for any card with TF32 (name yours: --card rtx-4090)"
    )
    assert not found.environment.elsewhere
    assert (found.environment.here.platform, found.environment.accelerator.tf32) == ("cpu", True)
    assert found.delivered == TF32
    assert found.skipped == ()


def test_a_named_card_is_judged_with_the_settings_of_here(monkeypatch):
    monkeypatch.setenv("JAX_DEFAULT_MATMUL_PRECISION", "highest")

    found = examine_machine("rtx-4090")

    assert found.environment.accelerator.card == "rtx-4090"
    assert found.environment.assumed == "judging for rtx-4090 (--card); running on cpu"
    assert found.environment.elsewhere
    assert found.measured is None
    assert (found.setting, found.delivered.mantissa_bits) == ("highest", 23)
    assert found.environment.settings == {"JAX_DEFAULT_MATMUL_PRECISION": "highest", "JAX_PLATFORMS": "cpu"}


def test_the_packages_are_tried_and_the_switch_to_warp_is_a_setting(monkeypatch):
    """With this variable MJX computes in Warp on a GPU where the user's code names no implementation."""
    monkeypatch.setenv("MJX_GPU_DEFAULT_WARP", "true")

    found = examine_machine("rtx-4090")

    assert found.environment.settings["MJX_GPU_DEFAULT_WARP"] == "true"
    assert found.software in found.facts
    assert found.software.unimportable == {}
    assert found.software.versions == found.environment.versions


def test_x64_makes_float64_the_default(monkeypatch):
    monkeypatch.setenv("JAX_ENABLE_X64", "true")

    found = examine_machine("a100")

    assert found.environment.x64
    assert found.delivered == F64


def test_a_card_that_jax_does_not_see_is_judged_instead(tmp_path, monkeypatch):
    """The CPU-only jaxlib is the usual reason."""
    fake_nvidia_smi(tmp_path, monkeypatch, "Tesla T4, 535.104.05, 15360, Enabled")
    monkeypatch.setattr(devices, "SURVEY", Task("tests.machine.test_judged:die_under_x64", users_code=True))

    found = examine_machine()

    assert found.environment.idle_gpus == ("Tesla T4",)
    assert found.environment.assumed == "JAX computes on the CPU; judging for the t4 that nvidia-smi lists"


def test_trouble_with_nvidia_smi_is_said(tmp_path, monkeypatch):
    fake_nvidia_smi(tmp_path, monkeypatch, "NVIDIA-SMI has failed because")

    found = examine_machine("t4")

    assert [skipped.subject for skipped in found.skipped] == ["nvidia-smi"]


def test_what_jax_dies_of_is_named_and_the_rest_still_examined(monkeypatch):
    """Workers that follow get variables with which JAX starts."""
    monkeypatch.setenv("JAX_DEFAULT_MATMUL_PRECISION", "jax.lax.Precision.HIGH")
    monkeypatch.setenv("JAX_MATMUL_PRECISION", "highest")
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_disable_tf32=true --xla_gpu_ftz=true word --xla_more")

    found = examine_machine("h100")

    assert list(found.environment.refused_settings) == ["JAX_DEFAULT_MATMUL_PRECISION"]
    assert found.environment.unknown_xla_flags == ("xla_gpu_disable_tf32=true",)
    assert found.environment.unread_xla_flags == "word --xla_more"
    assert found.environment.unread_settings == {"JAX_MATMUL_PRECISION": "JAX_DEFAULT_MATMUL_PRECISION"}
    assert found.environment.xla_flags == {"xla_gpu_ftz": "true"}
    assert found.variables == {"JAX_DEFAULT_MATMUL_PRECISION": None, "XLA_FLAGS": "--xla_gpu_ftz=true"}
    assert (found.setting, found.delivered) == ("default", TF32)


def test_flags_in_a_file_are_handed_on_as_flags(tmp_path, monkeypatch):
    """A worker that adds a flag of its own to a file's name would not start."""
    file = tmp_path / "flags"
    file.write_text("--xla_gpu_ftz=true\n--xla_gpu_autotune_level=0\n")
    monkeypatch.setenv("XLA_FLAGS", str(file))
    monkeypatch.setattr(devices, "SURVEY", Task("tests.machine.test_judged:die_under_x64", users_code=True))

    found = examine_machine("t4")

    assert found.environment.xla_flags == {"xla_gpu_ftz": "true", "xla_gpu_autotune_level": "0"}
    assert found.variables == {"XLA_FLAGS": "--xla_gpu_ftz=true --xla_gpu_autotune_level=0"}


def test_a_gpu_here_is_judged_by_what_was_measured(tmp_path, monkeypatch):
    """No assumption, no table: its own deliveries, with nvidia-smi's driver, memory and ECC."""
    fake_nvidia_smi(tmp_path, monkeypatch, "NVIDIA GeForce RTX 4090, 570.86.15, 24564, [N/A]")
    monkeypatch.setattr(devices, "SURVEY", Task("tests.machine.test_judged:survey_of_a_gpu", users_code=True))

    found = examine_machine()

    assert found.deliveries is found.measured
    assert (found.environment.here, found.environment.assumed) == (None, None)
    assert found.environment.device.driver == "570.86.15"
    assert found.environment.device.memory_bytes == 24564 * 2**20
    assert found.environment.idle_gpus == ()
    assert found.delivered == TF32


def survey_of_a_gpu(settings, seconds, *, progress):
    from jaxdoctor.facts.environment import Accelerator
    from jaxdoctor.machine.measured import Survey
    from tests.facts.test_delivery import delivery

    card = Accelerator(name="NVIDIA GeForce RTX 4090", platform="gpu", card="rtx-4090", tf32=True)
    arithmetic = {"x64": (Arithmetic.F64, 52), "highest": (Arithmetic.F32, 23)}
    return Survey(
        accelerator=card,
        matmul_precision=None,
        x64=False,
        options=(),
        products=tuple(
            delivery(*arithmetic.get(setting, (Arithmetic.TF32_ROUNDED, 10)), setting=setting)
            for setting in settings
        ),
        versions={"jaxlib": "0.10.2"},
        skipped=(),
    )


def test_a_worker_that_dies_leaves_the_rest(monkeypatch):
    """Here the whole look at the device fails; card and settings are reported all the same."""
    monkeypatch.setattr(devices, "SURVEY", Task("tests.workers.test_worker:die", users_code=True))

    found = examine_machine("rtx-3090", time_limit=30)

    assert found.delivered == TF32
    assert [skipped.subject for skipped in found.skipped] == ["this device"]
    assert found.environment.here.name == "unknown"


def test_a_worker_that_hangs_ends_at_the_time_limit(monkeypatch):
    monkeypatch.setattr(devices, "SURVEY", Task("tests.machine.test_judged:sleep_for_ever", users_code=True))

    found = examine_machine(time_limit=2)

    assert "timed out after 2 s" in found.skipped[0].reason
    assert found.environment.assumed == "JAX does not start here; judging for any card with TF32"


def sleep_for_ever(settings, seconds, *, progress):
    import time

    time.sleep(600)


def test_a_float64_worker_that_dies_leaves_float32(monkeypatch):
    monkeypatch.setattr(devices, "SURVEY", Task("tests.machine.test_judged:die_under_x64", users_code=True))

    found = examine_machine()

    assert found.measured.settings == ("default",)
    assert [skipped.subject for skipped in found.skipped] == ["float64 products"]
    assert "SIGSEGV" in found.skipped[0].reason


def die_under_x64(settings, seconds, *, progress):
    import signal

    from jaxdoctor.facts.delivery import Delivery
    from jaxdoctor.facts.environment import Accelerator
    from jaxdoctor.machine.measured import Survey

    if "x64" in settings:
        os.kill(os.getpid(), signal.SIGSEGV)
    product = Delivery(
        setting="default",
        op="dot",
        shape="64x64 @ 64x64",
        batched=False,
        side="left",
        arithmetic=Arithmetic.F32,
        mantissa_bits=23,
        max_relative_error=0.0,
    )
    return Survey(
        accelerator=Accelerator(name="cpu", platform="cpu"),
        matmul_precision=None,
        x64=False,
        options=(),
        products=(product,),
        versions={"jaxlib": "0.10.2"},
        skipped=(),
    )


def test_an_unknown_card_is_misuse():
    with pytest.raises(UnknownNameError, match="no card named 'rtx-9999'"):
        examine_machine("rtx-9999")
