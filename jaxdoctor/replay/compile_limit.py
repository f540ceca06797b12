"""Ends a worker whose compile or first steps go on and on, with an error that its parent can act on."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

from jaxdoctor.errors import WorkerError
from jaxdoctor.workers.progress import Progress

LOOK_SECONDS = 0.2
"""Between two looks at the clock."""


class CompileLimitError(WorkerError):
    """The compile, or the first steps, have used more CPU time than they were given."""


@contextlib.contextmanager
def compiling_within(cpu_seconds: float | None, progress: Progress) -> Iterator[None]:
    """Ends this process with a `CompileLimitError` once the body has used so much CPU time; None: never.

    XLA:CPU's fusion can compile one step of a deep kinematic chain for minutes, or run it for seconds.
    Nothing in Python can stop it, and without fusion it answers at once. CPU time and not wall time: a busy
    machine is no such chain.
    """
    if cpu_seconds is None:
        yield
        return
    ended, most = threading.Event(), time.process_time() + cpu_seconds

    def watch() -> None:
        while not ended.wait(LOOK_SECONDS):
            if time.process_time() > most:
                progress.end_with(
                    CompileLimitError(
                        f"it did not end within {cpu_seconds:.0f} s of CPU time",
                        hint="compile without fusion",
                    )
                )

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()
