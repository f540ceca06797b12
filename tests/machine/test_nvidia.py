"""The words of nvidia-smi, good and bad, from a fake one on the PATH."""

import time

import pytest

from jaxdoctor.machine.nvidia import NvidiaGpu, NvidiaSmi, ask_nvidia_smi, kernel_driver


@pytest.fixture
def nvidia_smi(tmp_path, monkeypatch):
    def write(script):
        program = tmp_path / "nvidia-smi"
        program.write_text(script)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return write


def test_a_card_is_read_with_its_driver_memory_and_ecc(nvidia_smi):
    nvidia_smi("#!/bin/sh\necho 'NVIDIA H200, 570.86.15, 143771, Enabled'\n")

    assert ask_nvidia_smi().gpus == (
        NvidiaGpu(name="NVIDIA H200", driver="570.86.15", memory_bytes=143771 * 2**20, ecc=True),
    )


def test_what_a_card_does_not_tell_is_unknown(nvidia_smi):
    nvidia_smi("#!/bin/sh\necho 'NVIDIA GeForce RTX 4090, [N/A], [Not Supported], [N/A]'\n")

    assert ask_nvidia_smi().gpus == (
        NvidiaGpu(name="NVIDIA GeForce RTX 4090", driver=None, memory_bytes=None, ecc=None),
    )


@pytest.mark.parametrize(
    ("script", "trouble"),
    [
        (
            "#!/bin/sh\necho 'Failed to initialize NVML: Driver/library version mismatch'\nexit 18\n",
            "exit code 18 and said: Failed to initialize NVML: Driver/library version mismatch",
        ),
        ("#!/bin/sh\necho 'No devices were found'\nexit 6\n", "exit code 6 and said: No devices were found"),
        ("#!/bin/sh\n", "exit code 0 and said: nothing"),
        ("#!/bin/sh\nprintf '\\377\\376,,,\\n'\nexit 1\n", "exit code 1"),
        ("#!/nowhere/sh\n", "does not start: No such file"),
    ],
    ids=["mismatch", "no devices", "silent", "bytes", "bad interpreter"],
)
def test_a_complaint_is_told_and_no_card_invented(nvidia_smi, script, trouble):
    nvidia_smi(script)

    answer = ask_nvidia_smi()

    assert answer.gpus == ()
    assert trouble in answer.trouble


def test_one_that_hangs_is_ended_with_its_children(nvidia_smi):
    nvidia_smi("#!/bin/sh\nsleep 60 & wait\n")
    started = time.monotonic()

    answer = ask_nvidia_smi(patience=0.5)

    assert "did not answer within" in answer.trouble
    assert time.monotonic() - started < 5


def test_without_one_nothing_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    assert ask_nvidia_smi() == NvidiaSmi()


def test_the_kernel_module_tells_the_driver_too(tmp_path):
    version = tmp_path / "version"
    version.write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Tue Mar  5 22:42:15 UTC 2024\n"
    )

    assert kernel_driver(version) == "535.161.08"
    assert kernel_driver(tmp_path / "missing") is None
