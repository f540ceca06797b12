"""What `--verbose` tells on stderr. Importing `logging` would cost every command more than this file."""

from __future__ import annotations

import sys
import time

_STARTED = time.monotonic()
_wanted = False


def listen() -> None:
    """From here on, what is told is written."""
    global _wanted  # noqa: PLW0603 (one stderr, one decision for the process)
    _wanted = True


def tell(message: str) -> None:
    """Says what is being done, with the milliseconds since the start, to whoever asked with `--verbose`."""
    if _wanted:
        print(f"{1000 * (time.monotonic() - _STARTED):7.0f} ms  {message}", file=sys.stderr)  # noqa: T201 (stderr)
