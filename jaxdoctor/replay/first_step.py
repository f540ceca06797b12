"""Ends a worker whose compiler does not return, in a way that its parent can tell."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

TOO_SLOW = 75
"""The exit code of a worker whose first step did not return in its share of the time (EX_TEMPFAIL)."""


@contextlib.contextmanager
def first_step_within(seconds: float) -> Iterator[None]:
    """Ends this process with `TOO_SLOW` unless the body is through in time.

    XLA:CPU can compile, or run, one step of a deep kinematic chain for minutes. Nothing in Python can stop
    it, and another set of flags answers at once.
    """
    alarm = threading.Timer(seconds, os._exit, (TOO_SLOW,))
    alarm.daemon = True
    alarm.start()
    try:
        yield
    finally:
        alarm.cancel()
