"""Runs of bytes to read from: a part of a file as it lies there, or one that is compressed."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from jaxdoctor.facts.leaf import Values
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import CorruptError, HostileError, TruncatedError
from jaxdoctor.storage.elements import Element
from jaxdoctor.storage.files import Opened, opened, size_of
from jaxdoctor.storage.ranges import PIECE, Range, range_values

ReadAt = Callable[[int, int], bytes]
"""Gives at most so many bytes from an offset: fewer only at the end."""

INFLATION_GRACE = 256 << 20
"""Bytes that may come out of any compressed run, however short."""

INFLATION = 120
"""Times its compressed size that more may come out. Zeros reach 1030; trained values never pass 20."""

STEP = 256 << 10


class Blob(Protocol):
    """A run of bytes of known size."""

    @property
    def path(self) -> Path:
        """The file that it lies in."""

    @property
    def size(self) -> int:
        """Bytes in it, as far as that can be told without reading it."""

    def reading(self, budget: Budget) -> Any:
        """A context that gives a `ReadAt`."""

    def values(self, offset: int, elements: int, kind: Element, budget: Budget) -> Values:
        """Elements that lie one after the other in it."""


@dataclass(frozen=True, kw_only=True)
class Region:
    """A part of a file, as it is."""

    path: Path
    start: int
    size: int
    root: Path | None = None

    def part(self, offset: int, size: int, what: str) -> Region:
        """A region within this one.

        Raises:
            TruncatedError: it would reach beyond the end.
        """
        if offset < 0 or size < 0 or offset + size > self.size:
            raise TruncatedError(
                f"{what} needs bytes {offset} to {offset + size} of {self.size} in {self.path.name}"
            )
        return Region(path=self.path, start=self.start + offset, size=size, root=self.root)

    @contextmanager
    def reading(self, budget: Budget) -> Iterator[ReadAt]:
        """Keeps the file open and gives what reads it."""
        file = opened(self.path, budget, root=self.root)
        yield lambda offset, size: self._read(file, offset, size, budget)

    def _read(self, file: Opened, offset: int, size: int, budget: Budget) -> bytes:
        budget.allow(size, "a part of a file")
        wanted = max(0, min(size, self.size - offset))
        found = os.pread(file.fileno(), wanted, self.start + offset) if wanted else b""
        budget.count(len(found))
        return found

    def bytes(self, offset: int, size: int, budget: Budget) -> bytes:
        """So many bytes.

        Raises:
            TruncatedError: the region, or its file, ends before.
        """
        with self.reading(budget) as read_at:
            found: bytes = read_at(offset, size)
        if len(found) != size:
            raise TruncatedError(f"{self.path} ends before byte {self.start + offset + size}")
        return found

    def values(self, offset: int, elements: int, kind: Element, budget: Budget) -> Values:
        """Elements that lie one after the other in it, reached directly."""
        part = self.part(offset, elements * kind.width, "an array")
        stored = Range(path=self.path, root=self.root, offset=part.start, elements=elements, kind=kind)
        return range_values(stored, budget)


@dataclass(frozen=True, kw_only=True)
class Held(Region):
    """Bytes that are held already, such as those of a file within a file."""

    content: bytes = b""

    def part(self, offset: int, size: int, what: str) -> Held:
        """The same within these bytes.

        Raises:
            TruncatedError: it would reach beyond the end.
        """
        super().part(offset, size, what)
        return held(self.content[offset : offset + size], self.path)

    @contextmanager
    def reading(self, budget: Budget) -> Iterator[ReadAt]:  # noqa: ARG002 (they were counted when they were read)
        """Gives what reads them."""
        yield lambda offset, size: self.content[offset : offset + size]

    def values(self, offset: int, elements: int, kind: Element, budget: Budget) -> Values:  # noqa: ARG002
        """Elements that lie one after the other in them."""
        size = elements * kind.width
        super().part(offset, size, "an array")
        return memory_values(self.content[offset : offset + size], kind)


def held(content: bytes, path: Path) -> Held:
    """Bytes in memory that stand for a part of a file."""
    return Held(path=path, start=0, size=len(content), content=content)


def whole_file(path: Path, *, root: Path | None = None) -> Region:
    """All of a regular file.

    Raises:
        DamagedError: it is missing or no regular file.
    """
    return Region(path=path, start=0, size=size_of(path, root=root), root=root)


@dataclass(frozen=True, kw_only=True)
class Inflated:
    """What comes out of a compressed part of a file, reached only by inflating all that stands before."""

    packed: Region
    size: int
    """Bytes inflated, where the file says; else the most that may come out."""

    window: int = -zlib.MAX_WBITS
    """zlib's `wbits`: negative for a bare stream, 31 for gzip, 15 for zlib's own."""

    codec: str = "zlib"
    """"zlib", "bzip2" or "lzma", which is xz as well."""

    @property
    def path(self) -> Path:
        """The file that it lies in."""
        return self.packed.path

    @contextmanager
    def reading(self, budget: Budget) -> Iterator[ReadAt]:
        """Gives what inflates on demand, from the beginning again where an offset lies behind."""
        with self.packed.reading(budget) as read_at:
            yield _Inflater(self, read_at).read_at

    def values(self, offset: int, elements: int, kind: Element, budget: Budget) -> Values:
        """A stream of the elements; a sample is their beginning."""
        return Values(
            stream=lambda: self._stream(offset, elements * kind.width, kind, budget),
            sample=lambda most: self._first(offset, min(elements, most // kind.width), kind, budget),
        )

    def _stream(self, offset: int, size: int, kind: Element, budget: Budget) -> Iterator[Any]:
        import numpy as np

        end = offset + size
        with self.reading(budget) as read_at:
            while offset < end:
                piece = _exactly(read_at, offset, min(PIECE, end - offset), self.packed.path)
                offset += len(piece)
                yield np.frombuffer(piece, kind.numpy())

    def _first(self, offset: int, count: int, kind: Element, budget: Budget) -> Any:
        import numpy as np

        size = count * kind.width
        budget.allow(size, "a sample")
        with self.reading(budget) as read_at:
            return np.frombuffer(_exactly(read_at, offset, size, self.packed.path), kind.numpy())


def _exactly(read_at: ReadAt, offset: int, size: int, path: Path) -> bytes:
    found = read_at(offset, size)
    if len(found) != size:
        raise TruncatedError(
            f"{path} inflates to {offset + len(found):,} bytes, not the {offset + size:,} needed"
        )
    return found


class _Inflater:
    def __init__(self, blob: Inflated, read_packed: ReadAt) -> None:
        self._blob = blob
        self._read_packed = read_packed
        self._most = _most(blob.packed)
        self._restart()

    def _restart(self) -> None:
        self._engine = decompressor(self._blob.codec, self._blob.window)
        self._packed_offset = 0
        self._offset = 0
        """Of what `_ready` begins with."""
        self._ready = b""

    def read_at(self, offset: int, size: int) -> bytes:
        if offset < self._offset:
            self._restart()
        while self._offset + len(self._ready) <= offset and self._more():
            self._drop(offset)
        self._drop(offset)
        parts = [self._ready]
        held = len(self._ready)
        while held < size:
            self._offset += len(self._ready)
            self._ready = b""
            if not self._more():
                break
            parts.append(self._ready)
            held += len(self._ready)
        found = b"".join(parts)
        self._offset, self._ready = offset, found
        return found[:size]

    def _drop(self, offset: int) -> None:
        passed = min(offset - self._offset, len(self._ready))
        self._offset += passed
        self._ready = self._ready[passed:]

    def _more(self) -> bool:
        """Inflates a step more behind what is ready. False at the end."""
        while True:
            packed = self._engine.unconsumed_tail
            if not packed and not self._engine.eof:
                packed = self._read_packed(self._packed_offset, STEP)
                self._packed_offset += len(packed)
            if self._engine.eof or not packed:
                return False
            fresh = self._inflate(packed)
            if fresh:
                self._ready += fresh
                if self._offset + len(self._ready) > self._most:
                    packed_size = self._blob.packed.size
                    raise HostileError(f"{packed_size:,} bytes inflate to more than {self._most:,}")
                return True

    def _inflate(self, packed: bytes) -> bytes:
        try:
            fresh: bytes = self._engine.decompress(packed, STEP)
        except zlib.error as error:
            raise CorruptError(f"{self._blob.packed.path} cannot be inflated: {error}") from error
        return fresh


def _most(packed: Region) -> int:
    return INFLATION_GRACE + INFLATION * packed.size


class _Fed:
    """bz2's and lzma's decompressors with zlib's interface: they keep what they have not yet undone."""

    def __init__(self, inner: Any, errors: tuple[type[Exception], ...]) -> None:
        self._inner = inner
        self._errors = errors

    @property
    def eof(self) -> bool:
        """Whether the stream ended."""
        return bool(self._inner.eof)

    @property
    def unconsumed_tail(self) -> bytes:
        """Not empty while more comes out without more going in."""
        return b"" if self._inner.eof or self._inner.needs_input else MORE

    def decompress(self, packed: bytes, most: int) -> bytes:
        """At most so many bytes more.

        Raises:
            zlib.error: they cannot be undone.
        """
        try:
            found: bytes = self._inner.decompress(b"" if packed is MORE else packed, most)
        except self._errors as error:
            raise zlib.error(str(error)) from error
        return found


MORE = b"more"
LZMA_MEMORY = 128 << 20
"""Bytes that a dictionary of LZMA may take: its strongest preset takes 64 MiB."""


def decompressor(codec: str, window: int) -> Any:
    """What undoes "zlib", "bzip2" or "lzma", with zlib's interface."""
    if codec == "zlib":
        return zlib.decompressobj(window)
    if codec == "bzip2":
        import bz2  # noqa: PLC0415 (rare)

        return _Fed(bz2.BZ2Decompressor(), (OSError, EOFError, ValueError))
    import lzma  # noqa: PLC0415 (rare)

    return _Fed(lzma.LZMADecompressor(memlimit=LZMA_MEMORY), (lzma.LZMAError, EOFError))


PACKED = (
    (b"\x1f\x8b\x08", "zlib", 16 + zlib.MAX_WBITS),
    (b"BZh", "bzip2", 0),
    (b"\xfd7zXZ\x00", "lzma", 0),
    (b"\x5d\x00\x00", "lzma", 0),
    *((bytes([0x78, level]), "zlib", zlib.MAX_WBITS) for level in (0x01, 0x5E, 0x9C, 0xDA)),
)
"""How files begin that are compressed as a whole, by what, and zlib's `wbits` for it."""


def packing(head: bytes) -> tuple[str, int] | None:
    """By what a file that begins so is compressed; None: by nothing that is known."""
    return next(((codec, window) for magic, codec, window in PACKED if head.startswith(magic)), None)


def first_unpacked(head: bytes, size: int) -> bytes:
    """The first bytes of what comes out of a compressed file that begins so; nothing where there are none."""
    packed = packing(head)
    if packed is None:
        return b""
    try:
        found: bytes = decompressor(*packed).decompress(head, size)
    except zlib.error:
        return b""
    return found


def unpacked(region: Region, head: bytes) -> Region | Inflated:
    """What comes out of a compressed file that begins so, or the file itself.

    How much that is, is not known before it is read.
    """
    packed = packing(head)
    if packed is None:
        return region
    codec, window = packed
    return Inflated(packed=region, size=_most(region), window=window, codec=codec)


def memory_values(content: bytes, kind: Element) -> Values:
    """Elements that are held already."""

    def held(size: int) -> Any:
        import numpy as np

        return np.frombuffer(content[:size], kind.numpy())

    def stream() -> Iterator[Any]:
        everything = held(len(content))
        step = PIECE // kind.width
        yield from (everything[first : first + step] for first in range(0, len(everything), step))

    return Values(stream=stream, sample=lambda most: held(most - most % kind.width))
