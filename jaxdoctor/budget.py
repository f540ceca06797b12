"""How much memory reading may take, and how many bytes it has read."""

from __future__ import annotations

from dataclasses import dataclass

from jaxdoctor.errors import UnreadableError

DEFAULT_MEMORY = 512 << 20
"""Bytes that a scan may hold at once, whatever a file declares."""


class OverBudgetError(UnreadableError):
    """A file declares more than may be held at once."""


@dataclass
class Budget:
    """One scan's allowance. Readers ask before they allocate, and count what they read."""

    memory: int = DEFAULT_MEMORY
    bytes_read: int = 0

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
                f"{what} needs {size} bytes at once, and {self.memory} are allowed",
                hint="raise --max-memory if the file is trusted to be that large",
            )
