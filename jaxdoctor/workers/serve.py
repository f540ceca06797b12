"""The worker's side: one task from stdin, messages to the original stdout, what is printed to stderr."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import threading
from typing import IO, NoReturn

from jaxdoctor.errors import JaxdoctorError, MissingPackageError
from jaxdoctor.workers.messages import receive, send

PACKAGES = {
    "jax": "jax",
    "jaxlib": "jaxlib",
    "mujoco": "mujoco",
    "mujoco.mjx": "mujoco-mjx",
    "numpy": "numpy",
    "brax": "brax",
    "mujoco_playground": "playground",
    "optax": "optax",
    "flax": "flax",
    "equinox": "equinox",
    "h5py": "h5py",
    "warp": "warp-lang",
}
"""What a worker may miss, and what pip calls it."""

PR_SET_PDEATHSIG = 1
"""Linux, <sys/prctl.h>: the signal that this process gets when its parent ends."""


class Reporting:
    """Progress, and parts of the answer, that travel to the parent. Any thread may use it."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()

    def stage(self, title: str, total: float | None = None) -> None:
        """Begins a stage."""
        self._send("stage", (title, total))

    def reached(self, amount: float) -> None:
        """So much of the stage's total is done."""
        self._send("reached", (amount,))

    def hand_over(self, part: object) -> None:
        """Sends a part of the answer: it is known to the parent from here on, however this process ends."""
        self._send("part", part)

    def end_with(self, error: JaxdoctorError) -> NoReturn:
        """Ends this process, from any thread, with an error that the parent raises."""
        self._send("error", error)
        os._exit(0)

    def answer(self, value: object) -> None:
        """Sends the answer."""
        self._send("result", value)

    def _send(self, kind: str, value: object) -> None:
        with self._lock:
            send((kind, value), self._pipe)


def serve(function: str) -> None:
    """Receives the arguments, calls the function and sends what it returns."""
    requests = os.fdopen(os.dup(0), "rb", buffering=0)
    with os.fdopen(os.dup(1), "wb") as pipe:
        # Code of the user's finds an empty stdin, and prints to stderr, also from C.
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123 (pathlib is not imported here)
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        reporting = Reporting(pipe)
        arguments = receive(requests)
        _end_with_parent(requests)
        module, _, name = function.partition(":")
        try:
            call = getattr(importlib.import_module(module), name)
            reporting.answer(call(*arguments, progress=reporting))
        except JaxdoctorError as error:
            reporting.end_with(error)
        except ModuleNotFoundError as error:
            package = _package(error.name or "")
            if package is None:
                raise
            reporting.end_with(MissingPackageError(package, sys.executable))
        # Threads that a user's code or a compiler left behind must not keep the answer from arriving.
        os._exit(0)


def _package(module: str) -> str | None:
    """What pip calls the package of a missing module; None for one that no worker needs by itself."""
    return PACKAGES.get(module) or PACKAGES.get(module.partition(".")[0])


def _end_with_parent(requests: IO[bytes]) -> None:
    """Has this process and its children end when the parent does, also when that was killed."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 (Linux alone has the call)

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    def watch() -> None:
        # The parent never writes again: the end of the pipe is the end of the parent.
        while requests.read(1):
            pass
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
