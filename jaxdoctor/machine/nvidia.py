"""What nvidia-smi and the kernel module tell about NVIDIA cards, whether or not JAX can use them."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

QUERY = "name,driver_version,memory.total,ecc.mode.current"
FIELDS = len(QUERY.split(","))

PATIENCE_SECONDS = 5.0
"""A driver in trouble lets nvidia-smi hang for ever."""

MODULE = Path("/proc/driver/nvidia/version")


@dataclass(frozen=True, kw_only=True)
class NvidiaGpu:
    """One row of nvidia-smi. What it does not tell is None."""

    name: str
    driver: str | None
    memory_bytes: int | None
    ecc: bool | None


@dataclass(frozen=True, kw_only=True)
class NvidiaSmi:
    """The answer: cards, or what is wrong. Neither, when there is no nvidia-smi."""

    gpus: tuple[NvidiaGpu, ...] = ()
    trouble: str | None = None


def ask_nvidia_smi(patience: float = PATIENCE_SECONDS) -> NvidiaSmi:
    """Its cards, its complaint, or nothing."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return NvidiaSmi()
    try:
        process = subprocess.Popen(  # noqa: S603 (the one that the user's PATH names, with fixed arguments)
            [program, f"--query-gpu={QUERY}", "--format=csv,noheader,nounits"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return NvidiaSmi(trouble=f"nvidia-smi does not start: {error.strerror}")
    try:
        output, _ = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        return NvidiaSmi(trouble=f"nvidia-smi did not answer within {patience:.0f} s")
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.stdout is not None:
            process.stdout.close()
        process.wait()
    return _parsed(output.decode(errors="replace"), process.returncode)


def kernel_driver(module: Path = MODULE) -> str | None:
    """The driver's version as its kernel module tells it, where there is no nvidia-smi."""
    with contextlib.suppress(OSError):
        for word in module.read_text(errors="replace").split():
            if word[0].isdecimal() and "." in word:
                return word
    return None


def _parsed(output: str, code: int) -> NvidiaSmi:
    rows = [[cell.strip() for cell in line.split(",")] for line in output.splitlines()]
    gpus = tuple(_gpu(row) for row in rows if len(row) == FIELDS and row[0])
    if code == 0 and gpus:
        return NvidiaSmi(gpus=gpus)
    said = next((line.strip() for line in output.splitlines() if line.strip()), "nothing")
    return NvidiaSmi(trouble=f"nvidia-smi ended with exit code {code} and said: {said[:200]}")


def _gpu(row: list[str]) -> NvidiaGpu:
    name, driver, mebibytes, ecc = row
    return NvidiaGpu(
        name=name,
        driver=driver if driver[:1].isdecimal() else None,
        memory_bytes=int(mebibytes) * 2**20 if mebibytes.isdecimal() else None,
        ecc={"enabled": True, "disabled": False}.get(ecc.lower()),
    )
