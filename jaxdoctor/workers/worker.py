"""Runs a function in a process of its own: with its own JAX settings, a time limit, and unable to end ours.

`jax_enable_x64`, XLA_FLAGS and the platform are settings of a whole process, XLA:CPU can compile for ever,
and an unknown XLA flag ends the process. So everything that touches jax on behalf of a command runs here.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import IO, Any

from jaxdoctor.errors import JaxdoctorError, WorkerError
from jaxdoctor.workers.log import tell
from jaxdoctor.workers.progress import SILENT, Progress

PATIENT_POOLS = {"PJRT_NPROC": "16", "NPROC": "16"}
"""jaxlib 0.10.2's batched Cholesky on the CPU waits for ever on a pool of 2 threads; 16 are enough."""

GRACE_SECONDS = 5.0
"""A process that has closed its end of the pipe gets this long to say with which code it ends."""

OUT_OF_MEMORY_HINT = "the kernel ended it, most likely for memory; use fewer replays or a smaller --batch"

_LIVE: set[subprocess.Popen[bytes]] = set()


class WorkerTimeoutError(WorkerError):
    """The time limit was reached."""


class _Reporting:
    """Progress that travels to the parent."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe

    def stage(self, title: str, total: float | None = None) -> None:
        self._send(("stage", (title, total)))

    def reached(self, amount: float) -> None:
        self._send(("reached", (amount,)))

    def _send(self, message: object) -> None:
        pickle.dump(message, self._pipe)
        self._pipe.flush()


def run(
    task: str,
    *arguments: Any,
    environment: Mapping[str, str | None] | None = None,
    time_limit: float,
    progress: Progress = SILENT,
    subject: str = "the worker",
) -> Any:
    """Calls `package.module:function(*arguments, progress=...)` in a fresh interpreter.

    Args:
        task: the function. It takes a `progress` keyword.
        arguments: anything that pickles.
        environment: variables to set; None unsets one.
        time_limit: seconds until the process and its children are ended.
        progress: is told what the function tells its own.
        subject: what error messages call it: "the x64 replay".

    Returns:
        What the function returned.

    Raises:
        WorkerTimeoutError: the time limit was reached.
        WorkerError: the process ended without a result.
        JaxdoctorError: the function raised it.
    """
    variables = {**os.environ, **PATIENT_POOLS}
    for name, value in (environment or {}).items():
        variables.pop(name, None)
        if value is not None:
            variables[name] = value
    told = "".join(f" {name}={value}" for name, value in (environment or {}).items())
    tell(f"worker {task} for {subject}, at most {time_limit:.0f} s{told}")
    process = subprocess.Popen(  # noqa: S603 (our own interpreter and module)
        [sys.executable, "-m", "jaxdoctor.workers.worker", task],
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    _LIVE.add(process)
    timed_out = threading.Event()

    def end() -> None:
        timed_out.set()
        _end(process)

    alarm = threading.Timer(time_limit, end)
    chatter: list[bytes] = []
    listener = threading.Thread(target=_collect, args=(process.stderr, chatter), daemon=True)
    alarm.start()
    listener.start()
    try:
        message = _converse(process, arguments, progress)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=GRACE_SECONDS)
    finally:
        alarm.cancel()
        _end(process)
        process.wait()
        _LIVE.discard(process)
        listener.join(timeout=1)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
    if message is None:
        if timed_out.is_set():
            raise WorkerTimeoutError(
                f"{subject} did not end within {time_limit:.0f} s",
                hint="raise --time-limit, or lower --steps or --replays",
            )
        died = WorkerError(f"{subject} died{_cause(process.returncode)}", hint=_last_words(process, chatter))
        died.code = process.returncode
        raise died
    kind, value = message
    if kind == "error":
        assert isinstance(value, Exception)
        raise value
    return value


def end_all() -> None:
    """Ends every worker of this process: they are in sessions of their own and hear no Ctrl-C."""
    for process in list(_LIVE):
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _collect(stream: IO[bytes] | None, into: list[bytes]) -> None:
    assert stream is not None
    for line in stream:
        into.append(line)
        del into[:-40]


def _converse(
    process: subprocess.Popen[bytes], arguments: tuple[Any, ...], progress: Progress
) -> tuple[str, Any] | None:
    """The worker's last message: ("result", value) or ("error", exception); None when it died first."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        pickle.dump(arguments, process.stdin)
        process.stdin.close()
        while True:
            kind, value = pickle.load(process.stdout)  # noqa: S301 (our own process writes it)
            if kind == "stage":
                progress.stage(*value)
            elif kind == "reached":
                progress.reached(*value)
            else:
                return kind, value
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):
        return None


def _cause(code: int) -> str:
    if code >= 0:
        return f" with exit code {code}"
    return f" of {signal.Signals(-code).name}"


def _last_words(process: subprocess.Popen[bytes], chatter: list[bytes]) -> str:
    if process.returncode == -signal.SIGKILL:
        return OUT_OF_MEMORY_HINT
    lines = [line.decode(errors="replace").strip() for line in chatter]
    return "its last words were: " + next((line for line in reversed(lines) if line), "none")


def _serve(task: str) -> None:
    """The worker's side: one task from stdin, messages to the original stdout, chatter to stderr."""
    with os.fdopen(os.dup(1), "wb") as pipe:
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        arguments = pickle.load(sys.stdin.buffer)  # noqa: S301 (our own process writes it)
        module, _, function = task.partition(":")
        message: tuple[str, Any]
        try:
            call = getattr(importlib.import_module(module), function)
            message = ("result", call(*arguments, progress=_Reporting(pipe)))
        except JaxdoctorError as error:
            message = ("error", error)
        pickle.dump(message, pipe)
        pipe.flush()
        # Threads that a user's code or a compiler left behind must not keep the answer from arriving.
        os._exit(0)


if __name__ == "__main__":
    _serve(sys.argv[1])
