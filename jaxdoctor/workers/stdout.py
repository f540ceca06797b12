"""Keeps stdout for the report: whatever a library prints goes to stderr."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import TextIO


@contextlib.contextmanager
def chatter_to_stderr() -> Iterator[None]:
    """Sends everything that is printed inside to stderr, also what C code writes to file descriptor 1."""
    sys.stdout.flush()
    with contextlib.redirect_stdout(sys.stderr):
        try:
            kept = os.dup(1)
        except OSError:  # stdout is closed, so there is nothing to protect
            yield
            return
        os.dup2(2, 1)
        try:
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)


def to_stdout(write: Callable[[TextIO], object]) -> None:
    """Has something written to stdout. A reader that has seen enough, `head` perhaps, is no error."""
    try:
        write(sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered would raise once more when the interpreter closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
