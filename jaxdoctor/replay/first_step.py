"""Ends a worker whose compiler does not return, with an error that its parent can act on."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from jaxdoctor.errors import WorkerError
from jaxdoctor.workers.progress import Progress


class FirstStepTimeoutError(WorkerError):
    """The first step did not return in its share of the time."""


@contextlib.contextmanager
def first_step_within(seconds: float, progress: Progress) -> Iterator[None]:
    """Ends this process with a `FirstStepTimeoutError` unless the body is through in time.

    XLA:CPU can compile, or run, one step of a deep kinematic chain for minutes. Nothing in Python can stop
    it, and another set of flags answers at once.
    """
    late = FirstStepTimeoutError(
        f"the first step did not return within {seconds:.0f} s", hint="raise --time-limit"
    )
    alarm = threading.Timer(seconds, progress.end_with, (late,))
    alarm.daemon = True
    alarm.start()
    try:
        yield
    finally:
        alarm.cancel()
