"""Bytes that lie together: in a file, or in memory where a format keeps small values in its index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import TruncatedError
from jaxdoctor.storage.files import open_regular, read_exactly


@dataclass(frozen=True, kw_only=True)
class Span:
    """A piece of storage that is read in parts."""

    size: int
    path: Path | None = None
    root: Path | None = None
    """The folder that links may not leave."""

    offset: int = 0
    held: bytes | None = None
    """The bytes themselves, where they were part of an index that is already read."""

    def part(self, offset: int, size: int) -> Span:
        """A piece of this piece.

        Raises:
            TruncatedError: it reaches beyond the end.
        """
        if offset < 0 or size < 0 or offset + size > self.size:
            raise TruncatedError(
                f"bytes {offset} to {offset + size} are named, and only {self.size} are stored"
            )
        if self.held is not None:
            return Span(size=size, held=self.held[offset : offset + size])
        return replace(self, offset=self.offset + offset, size=size)

    @contextmanager
    def open(self, budget: Budget) -> Iterator[Feed]:
        """Gives the bytes from the first on."""
        if self.path is None:
            yield Feed(self, None, budget)
            return
        with open_regular(self.path, root=self.root) as file:
            yield Feed(self, file, budget)

    def read(self, budget: Budget) -> bytes:
        """All of it at once; for what is known to be small."""
        with self.open(budget) as feed:
            return feed.read(self.size)


class Feed:
    """A span as a file to read forward, the way decompressors like it."""

    def __init__(self, span: Span, file: BinaryIO | None, budget: Budget) -> None:
        self.span = span
        self.file = file
        self.budget = budget
        self.position = 0

    def read(self, most: int = -1) -> bytes:
        """The next bytes, at most so many, none at the end."""
        left = self.span.size - self.position
        size = left if most < 0 else min(most, left)
        start = self.position
        self.position += size
        if self.span.held is not None:
            return self.span.held[start : start + size]
        if size == 0 or self.file is None:
            return b""
        return read_exactly(self.file, self.span.offset + start, size, self.budget)
