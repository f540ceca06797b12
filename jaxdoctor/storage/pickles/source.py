"""Bytes for the pickle machine: buffered, bounded by what is there, with payloads left where they are."""

from __future__ import annotations

from collections.abc import Callable

BLOCK = 64 << 10
LONGEST_LINE = 64 << 10
"""Bytes of one line of protocol 0 that are worth holding: names and numbers, and small strings."""


class ShortError(Exception):
    """The stream ends before what it announced."""


class Cursor:
    """A position in a stream of known size."""

    def __init__(self, read_at: Callable[[int, int], bytes], size: int, *, start: int = 0) -> None:
        self._read_at = read_at
        self.size = size
        self._base = start
        self._block = b""
        self._place = 0

    @property
    def position(self) -> int:
        """The offset of the next byte."""
        return self._base + self._place

    @property
    def left(self) -> int:
        """Bytes until the end."""
        return self.size - self.position

    def byte(self) -> int:
        """The next byte, or -1 at the end."""
        place = self._place
        if place >= len(self._block):
            if not self._fill(1):
                return -1
            place = 0
        self._place = place + 1
        return self._block[place]

    def window(self) -> tuple[bytes, int, int]:
        """Bytes that are held, the offset of their first, and the place of the next among them."""
        if self._place >= len(self._block):
            self._fill(1)
        return self._block, self._base, self._place

    def move(self, place: int) -> None:
        """Moves to a place among the bytes that are held."""
        self._place = place

    def back(self) -> None:
        """Takes the byte just read back."""
        self._place -= 1

    def take(self, size: int) -> bytes:
        """The next `size` bytes, which the caller has judged small enough to hold."""
        place = self._place
        end = place + size
        if end <= len(self._block):
            self._place = end
            return self._block[place:end]
        if size > self.left:
            raise ShortError
        if not self._fill(size) or len(self._block) < size:
            raise ShortError
        self._place = size
        return self._block[:size]

    def number(self, size: int) -> int:
        """An unsigned little-endian integer."""
        return int.from_bytes(self.take(size), "little")

    def skip(self, size: int) -> int:
        """Moves over `size` bytes without reading them, and says where they begin."""
        if size > self.left:
            raise ShortError
        begin = self.position
        if self._place + size <= len(self._block):
            self._place += size
        else:
            self._base, self._block, self._place = begin + size, b"", 0
        return begin

    def line(self) -> bytes:
        """The bytes up to the next newline."""
        pieces = []
        held = 0
        while True:
            end = self._block.find(b"\n", self._place)
            if end >= 0:
                pieces.append(self._block[self._place : end])
                self._place = end + 1
                return b"".join(pieces)
            pieces.append(self._block[self._place :])
            held += len(pieces[-1])
            self._place = len(self._block)
            if held > LONGEST_LINE or not self._fill(1):
                raise ShortError

    def long_line(self) -> tuple[int, int]:
        """Where the bytes up to the next newline are, and how many, without holding them."""
        begin = self.position
        while True:
            end = self._block.find(b"\n", self._place)
            if end >= 0:
                self._place = end + 1
                return begin, self._base + end - begin
            self._place = len(self._block)
            if not self._fill(1):
                raise ShortError

    def again(self, begin: int, size: int) -> bytes:
        """A few bytes that were passed already."""
        return self._read_at(begin, size)

    def _fill(self, size: int) -> bool:
        base = self.position
        wanted = min(max(size, BLOCK), self.size - base)
        self._block = self._read_at(base, wanted) if wanted > 0 else b""
        self._base, self._place = base, 0
        return bool(self._block)
