"""Keeps stdout for the report: whatever a library prints goes to stderr."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterator
from typing import TextIO

from jaxdoctor.errors import UsageError

FULL = {errno.ENOSPC, errno.EDQUOT}


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
    """Has something written to stdout. A reader that has seen enough, `head` perhaps, is no error.

    Raises:
        UsageError: there is no space left for it.
    """
    try:
        write(sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard()
    except OSError as error:
        if not is_full(error):
            raise
        raise full(error) from error


def is_full(error: Exception) -> bool:
    """Whether a stream, and not a file that has a name, takes no more."""
    return isinstance(error, OSError) and error.errno in FULL and error.filename is None


def full(error: Exception) -> UsageError:
    """The error of a report that is lost."""
    _discard()
    reason = error.strerror if isinstance(error, OSError) else error
    return UsageError(f"stdout cannot be written: {reason}", hint="free some space, or use --output FILE")


def _discard() -> None:
    # What is still buffered would raise once more when the interpreter closes the stream.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_streams() -> None:
    """Gives whoever started us with a closed stdin, stdout or stderr an empty one.

    Else the next file that is opened takes its number, and a library's chatter ends up in it.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest number that is free is the one that was closed.
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
