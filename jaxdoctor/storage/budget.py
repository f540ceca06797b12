"""How much memory reading may take, and how many bytes it has read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from jaxdoctor.errors import UnreadableError, UsageError

DEFAULT_MEMORY = 512 << 20
"""Bytes that a scan may hold at once, whatever a file declares."""


class OverBudgetError(UnreadableError):
    """A file declares more than may be held at once."""


@dataclass
class Budget:
    """One scan's allowance. Readers ask before they allocate, and count what they read."""

    memory: int = DEFAULT_MEMORY
    bytes_read: int = 0
    held: object = field(default=None, repr=False, compare=False)
    """The file that was opened last: `storage/files.py`."""

    def count(self, size: int) -> None:
        """Says that `size` bytes were read from disk."""
        self.bytes_read += size

    def allow(self, size: int, what: str) -> None:
        """Says that `size` bytes are about to be held for `what`.

        Raises:
            OverBudgetError: that is more than the whole allowance.
        """
        if size > self.memory:
            raise OverBudgetError(
                f"{what} needs {size:,} bytes at once, and {self.memory:,} are allowed",
                hint="raise --max-memory if the file is trusted to be that large",
            )


SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
"""A number, a unit's letter, and an "i" for powers of 1024."""

LEAST_MEMORY = 16 << 20
"""Below this, not even the metadata of a large model fits."""


def size_named(text: str) -> int:
    """The bytes that a user means by "512MiB", "2GB" or "100000000".

    Raises:
        UsageError: it is no size, or too small to read anything in.
    """
    found = SIZE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{text!r} is no size", hint="write it as 512MiB or 2GiB")
    base = 1024 if found[3] else 1000
    size = int(float(found[1]) * base ** " kmgt".index(found[2].lower() or " "))
    if size < LEAST_MEMORY:
        raise UsageError(f"{text} is too little to read a checkpoint in", hint="give at least 16MiB")
    return size
