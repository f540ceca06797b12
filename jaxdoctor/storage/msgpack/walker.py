"""Walks a msgpack file without loading it: small values are told, arrays are told by where they lie.

A file of 10 GB costs one small read for each of its arrays.
https://github.com/msgpack/msgpack/blob/master/spec.md
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import CorruptError, HostileError, TruncatedError
from jaxdoctor.storage.files import read_exactly

WINDOW = 1 << 12
"""Bytes that are read at once while headers lie close together."""

DEEPEST = 512
"""Containers within containers. Flax's own reader stops at 1024."""

SMALL = 1 << 16
"""Bytes of a string or a blob that are kept; longer ones are told by their place."""

NODE = 400
"""Bytes of memory for each value that is told."""

KEY = 8
"""Bytes of memory for each key on the way to it."""

FIXED: dict[int, tuple[str, str]] = {
    0xCA: (">f", "number"), 0xCB: (">d", "number"),
    0xCC: (">B", "number"), 0xCD: (">H", "number"), 0xCE: (">I", "number"), 0xCF: (">Q", "number"),
    0xD0: (">b", "number"), 0xD1: (">h", "number"), 0xD2: (">i", "number"), 0xD3: (">q", "number"),
    0xC4: (">B", "blob"), 0xC5: (">H", "blob"), 0xC6: (">I", "blob"),
    0xD9: (">B", "text"), 0xDA: (">H", "text"), 0xDB: (">I", "text"),
    0xDC: (">H", "list"), 0xDD: (">I", "list"),
    0xDE: (">H", "map"), 0xDF: (">I", "map"),
    0xC7: (">B", "extension"), 0xC8: (">H", "extension"), 0xC9: (">I", "extension"),
}  # fmt: skip
"""First byte: the number that follows, and what it is, or is the length of."""

CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}


@dataclass(frozen=True, kw_only=True)
class Blob:
    """Bytes that were not read."""

    offset: int
    size: int
    extension: int | None = None
    """The type code of an extension; None: plain bytes, or text."""


@dataclass(frozen=True)
class Empty:
    """A map or a list without entries."""

    kind: str


@dataclass(frozen=True)
class _Token:
    kind: str
    value: Any = None


class Walker:
    """Reads a file's values one after the other, within `[start, end)`."""

    def __init__(self, file: BinaryIO, budget: Budget, *, start: int = 0, end: int | None = None) -> None:
        self.file = file
        self.budget = budget
        self.position = start
        self.end = os.fstat(file.fileno()).st_size if end is None else end
        self.window = b""
        self.window_start = start

    def leaves(self) -> Iterator[tuple[tuple[str, ...], Any]]:
        """Every value that is no container, with the keys that lead to it.

        Raises:
            DamagedError: the file ends early, is no msgpack, or is nested too deeply.
            OverBudgetError: it holds more values than memory is allowed for.
        """
        path: list[str] = []
        within: list[_Container] = []
        held = 0
        while True:
            token = self.token()
            held += NODE + KEY * len(path)
            self.budget.allow(held, "the list of a file's values")
            if token.kind not in {"map", "list"}:
                yield tuple(path), token.value
            elif not token.value:
                yield tuple(path), Empty(token.kind)
            elif len(within) >= DEEPEST:
                raise HostileError(f"values are nested deeper than {DEEPEST}")
            else:
                within.append(_Container(token.kind, token.value))
            while within and within[-1].stated == within[-1].size:
                within.pop()
            if not within:
                return
            del path[len(within) - 1 :]
            path.append(self._key() if within[-1].kind == "map" else str(within[-1].stated))
            held += len(path[-1])
            within[-1].stated += 1

    @contextmanager
    def within(self, blob: Blob) -> Iterator[None]:
        """Walks the inside of a value that was skipped, then goes back."""
        position, end = self.position, self.end
        self.position, self.end = blob.offset, blob.offset + blob.size
        try:
            yield
        finally:
            self.position, self.end = position, end

    def token(self) -> _Token:
        """The next value, or the beginning of a container. Long values are skipped."""
        first = self._take(1)[0]
        if first <= 0x7F or first >= 0xE0:  # noqa: PLR2004 (the format's own numbers)
            return _Token("number", first if first < 0x80 else first - 256)  # noqa: PLR2004 (same)
        if first in CONSTANTS:
            return _Token("constant", CONSTANTS[first])
        if first in FIXED:
            return self._sized(*FIXED[first])
        kind, size = _short(first)
        return self._container(size, kind) if kind in {"map", "list"} else self._body(size, kind)

    def _sized(self, layout: str, kind: str) -> _Token:
        (number,) = struct.unpack(layout, self._take(struct.calcsize(layout)))
        if kind == "number":
            return _Token(kind, number)
        return self._container(number, kind) if kind in {"map", "list"} else self._body(number, kind)

    def _container(self, size: int, kind: str) -> _Token:
        if size * (2 if kind == "map" else 1) > self.end - self.position:
            raise TruncatedError(
                f"a {kind} of {size:,} entries begins {self.end - self.position:,} bytes before the end"
            )
        return _Token(kind, size)

    def _body(self, size: int, kind: str) -> _Token:
        code = self._take(1)[0] if kind == "extension" else None
        if size > self.end - self.position:
            raise TruncatedError(
                f"a value of {size:,} bytes begins {self.end - self.position:,} bytes before the end"
            )
        if kind == "text" and size <= SMALL:
            return _Token(kind, self._text(size))
        blob = Blob(offset=self.position, size=size, extension=code)
        self.position += size
        return _Token(kind, blob)

    def _key(self) -> str:
        token = self.token()
        if token.kind == "text" and isinstance(token.value, str):
            return token.value
        if token.kind in {"number", "constant"}:
            return str(token.value)
        if token.kind == "blob" and isinstance(token.value, Blob) and token.value.size <= SMALL:
            return self._content(token.value).decode("utf-8", "backslashreplace")
        raise CorruptError(f"a map has a {token.kind} as a key")

    def _text(self, size: int) -> str:
        start = self.position
        try:
            return self._take(size).decode()
        except UnicodeDecodeError as error:
            raise CorruptError(f"the text at byte {start} is no UTF-8, and Flax refuses the file") from error

    def _content(self, blob: Blob) -> bytes:
        """The bytes of a value that was skipped."""
        with self.within(blob):
            return self._take(blob.size)

    def _take(self, size: int) -> bytes:
        if self.position + size > self.end:
            raise TruncatedError(f"the file ends at byte {self.end}, in the middle of a value")
        start = self.position - self.window_start
        if start < 0 or start + size > len(self.window):
            length = min(max(size, WINDOW), self.end - self.position)
            self.window = read_exactly(self.file, self.position, length, self.budget)
            self.window_start = self.position
            start = 0
        self.position += size
        return self.window[start : start + size]


@dataclass
class _Container:
    kind: str
    size: int
    stated: int = 0


def _short(first: int) -> tuple[str, int]:
    """What the first byte alone tells: the kind and the length."""
    if first <= 0x8F:  # noqa: PLR2004 (the format's own numbers)
        return "map", first & 0x0F
    if first <= 0x9F:  # noqa: PLR2004 (same)
        return "list", first & 0x0F
    if first <= 0xBF:  # noqa: PLR2004 (same)
        return "text", first & 0x1F
    if 0xD4 <= first <= 0xD8:  # noqa: PLR2004 (same)
        return "extension", 1 << (first - 0xD4)
    raise CorruptError("0xc1 begins no value of msgpack")
