"""Runs a function in a process of its own: with its own JAX settings, a time limit, and unable to end ours.

`jax_enable_x64`, XLA_FLAGS and the platform are settings of a whole process, XLA:CPU can compile for ever,
and an unknown XLA flag ends the process. So everything that touches jax on behalf of a command runs here.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from typing import IO, Any

from jaxdoctor.errors import WorkerError
from jaxdoctor.workers.interpreter import command, variables_of
from jaxdoctor.workers.log import tell
from jaxdoctor.workers.messages import NotPlainError, receive, send
from jaxdoctor.workers.progress import SILENT, Progress
from jaxdoctor.workers.task import Call, R

PATIENT_POOLS = {"PJRT_NPROC": "16", "NPROC": "16"}
"""jaxlib 0.10.2's batched Cholesky on the CPU waits for ever on a pool of 2 threads; 16 are enough."""

GRACE_SECONDS = 5.0
"""A process that has closed its end of the pipe gets this long to say with which code it ends."""

OUT_OF_MEMORY_HINT = (
    "something ended it, most likely the kernel for want of memory: ask for less with --replays, --batch or "
    "--max-memory"
)

_LIVE: set[subprocess.Popen[bytes]] = set()


class WorkerTimeoutError(WorkerError):
    """The time limit was reached."""


def run(
    call: Call[R],
    *,
    deadline: float,
    environment: Mapping[str, str | None] | None = None,
    progress: Progress = SILENT,
    received: Callable[[Any], None] | None = None,
    subject: str = "the worker",
) -> R:
    """Calls a task's function in a fresh interpreter: the one that `--python` names, or our own.

    Args:
        call: the task with its arguments: `SWEEP(folder, plan)`.
        deadline: the moment of `time.monotonic()` at which the process and its children are ended.
        environment: variables to set; None unsets one.
        progress: is given what the function reports to its own.
        received: is called with every part of the answer that the function hands over, when it does.
        subject: what error messages call it: "the x64 replay".

    Returns:
        What the function returned.

    Raises:
        WorkerTimeoutError: the deadline was reached.
        WorkerError: the process ended without a result.
        JaxdoctorError: the function raised it.
    """
    task, limit = call.task, max(deadline - time.monotonic(), 0.0)
    variables = {**variables_of(os.environ, ours=task.ours), **PATIENT_POOLS}
    for name, value in (environment or {}).items():
        variables.pop(name, None)
        if value is not None:
            variables[name] = value
    stated = "".join(f" {name}={value}" for name, value in (environment or {}).items())
    tell(f"worker {task.function} for {subject}, at most {limit:.0f} s{stated}")
    process = subprocess.Popen(  # noqa: S603 (our own file, in an interpreter that the user named)
        command(task),
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

    alarm = threading.Timer(limit, end)
    # A Ctrl-C that comes before the `try` must not leave Python waiting for the limit when it exits.
    alarm.daemon = True
    chatter: list[bytes] = []
    listener = threading.Thread(target=_collect, args=(process.stderr, chatter), daemon=True)
    alarm.start()
    listener.start()
    try:
        message = _converse(process, call.arguments, progress, received)
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
                f"{subject} timed out after {limit:.0f} s",
                hint="raise --time-limit, or lower --steps or --replays",
            )
        raise WorkerError(f"{subject} died{_cause(process.returncode)}", hint=_last_words(process, chatter))
    kind, value = message
    if kind == "error":
        assert isinstance(value, Exception)
        raise value
    answer: R = value
    return answer


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
    process: subprocess.Popen[bytes],
    arguments: tuple[Any, ...],
    progress: Progress,
    received: Callable[[Any], None] | None,
) -> tuple[str, Any] | None:
    """The worker's last message: ("result", value) or ("error", exception); None when it died first.

    The worker's stdin stays open: its end tells the worker that this process has ended.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        send(arguments, process.stdin)
        while True:
            kind, value = receive(process.stdout)
            if kind == "stage":
                progress.stage(*value)
            elif kind == "reached":
                progress.reached(*value)
            elif kind == "part":
                if received is not None:
                    received(value)
            else:
                return kind, value
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):
        return None
    except NotPlainError as error:
        raise WorkerError(
            f"a worker sent what cannot be read: {error}", hint="this is a bug; report it"
        ) from error


def _cause(code: int) -> str:
    if code >= 0:
        return f" with exit code {code}"
    return f" of {signal.Signals(-code).name}"


def _last_words(process: subprocess.Popen[bytes], chatter: list[bytes]) -> str:
    if process.returncode == -signal.SIGKILL:
        return OUT_OF_MEMORY_HINT
    lines = [line.decode(errors="replace").strip() for line in chatter]
    return "its last words were: " + next((line for line in reversed(lines) if line), "none")
