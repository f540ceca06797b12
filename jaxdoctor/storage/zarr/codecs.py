"""Decompresses a chunk as a stream, never more of it at once than a piece."""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, Protocol, cast

from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import CorruptError, HostileError, TruncatedError, UnsupportedError
from jaxdoctor.storage.spans import Feed, Span

PIECE = 1 << 20
"""Bytes of one decoded piece: small enough to stay in a core's own cache, and a multiple of every element."""

SIP = 1 << 16
"""Compressed bytes that are read at once."""

WINDOW = 1 << 27
"""The largest zstd window that is followed: what `zstd --long` uses, and 256 times what Orbax does."""


GZIP_OR_ZLIB = 47
"""zlib's way to say: either header, any window."""


class Readable(Protocol):
    """What gives decoded bytes."""

    def read(self, size: int, /) -> bytes:
        """The next bytes; fewer only at the end."""
        ...


class _Inflater:
    """zlib, gzip and bz2, which share their way of decoding with a bound."""

    def __init__(self, feed: Feed, decoder: Any) -> None:
        self.feed = feed
        self.decoder = decoder

    def read(self, size: int) -> bytes:
        parts = []
        while size and not self.decoder.eof:
            # zlib hands back what it did not look at; bz2 keeps it.
            sip = getattr(self.decoder, "unconsumed_tail", b"") or self.feed.read(SIP)
            part = self.decoder.decompress(sip, size)
            if not sip and not part:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _zstd(feed: Feed) -> Readable:
    import zstandard

    decoder = zstandard.ZstdDecompressor(max_window_size=WINDOW)
    reader: Readable = decoder.stream_reader(cast("IO[bytes]", feed), read_size=SIP)
    return reader


def _gzip(feed: Feed) -> Readable:
    return _Inflater(feed, zlib.decompressobj(wbits=GZIP_OR_ZLIB))


def _bz2(feed: Feed) -> Readable:
    return _Inflater(feed, bz2.BZ2Decompressor())


OPENERS: dict[str | None, Callable[[Feed], Readable]] = {
    None: lambda feed: feed,
    "zstd": _zstd,
    "gzip": _gzip,
    "zlib": _gzip,
    "bz2": _bz2,
}


def decoded(span: Span, codec: str | None, size: int, budget: Budget, *, whole: bool) -> Iterator[bytes]:
    """The first `size` decoded bytes of a chunk, in pieces. `whole` says that it must not hold more.

    Raises:
        HostileError: it holds more.
        DamagedError: they cannot be decoded, or there are fewer.
    """
    if codec not in OPENERS:
        raise UnsupportedError(f"it is compressed with {str(codec)[:40]!r}")
    with span.open(budget) as feed:
        source = OPENERS[codec](feed)
        left = size
        while left:
            piece = _next(source, min(left, PIECE))
            left -= len(piece)
            yield piece
        if whole and _try_read(source, 1):
            raise HostileError(f"a chunk holds more than the {size:,} bytes that its shape has room for")


def _next(source: Readable, size: int) -> bytes:
    piece = _try_read(source, size)
    if len(piece) < size:
        raise TruncatedError(f"a chunk ends {size - len(piece):,} bytes before a piece of {size:,} is full")
    return piece


def _try_read(source: Readable, size: int) -> bytes:
    import zstandard

    try:
        return source.read(size)
    except (zstandard.ZstdError, zlib.error, OSError, EOFError, ValueError) as error:
        raise CorruptError(f"a chunk cannot be decompressed: {error}") from error


def inflated(stored: bytes, codec: str | None, most: int, budget: Budget) -> bytes:
    """The first `most` decoded bytes of a small thing.

    Raises:
        CorruptError: they cannot be decoded.
    """
    source = OPENERS[codec](Feed(Span(size=len(stored), held=stored), None, budget))
    parts: list[bytes] = []
    while most and (part := _try_read(source, min(most, PIECE))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)
