"""The pickle opcodes that stand for a value of their own: numbers, text, bytes."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

from jaxdoctor.storage.pickles.parts import Bag, Opaque, Payload, Table
from jaxdoctor.storage.pickles.source import Cursor

LONGEST_BYTES = 64
"""Longer runs of bytes stay in the file."""

LONGEST_TEXT = 4096
"""Longer texts stay in the file."""

LONGEST_INTEGER = 1024
"""Bytes of an integer worth building. Random states of NumPy need 16."""

LONGEST_DIGITS = 4000
"""Python itself refuses integers of more than 4300 digits."""


class BadPickleError(Exception):
    """The stream is not a pickle, or stopped being one."""


def _integer_line(cursor: Cursor) -> Any:
    text = cursor.line()
    if text in {b"00", b"01"}:
        return text == b"01"
    return _integer(text)


def _integer(text: bytes) -> int:
    if len(text) > LONGEST_DIGITS:
        raise BadPickleError("an integer with too many digits")
    try:
        return int(text)
    except ValueError as error:
        raise BadPickleError("a malformed integer") from error


def _long_line(cursor: Cursor) -> int:
    return _integer(cursor.line().removesuffix(b"L"))


def _float_line(cursor: Cursor) -> float:
    try:
        return float(cursor.line())
    except ValueError as error:
        raise BadPickleError("a malformed float") from error


def _float(cursor: Cursor) -> float:
    value: float = struct.unpack(">d", cursor.take(8))[0]
    return value


def _signed(cursor: Cursor) -> int:
    return int.from_bytes(cursor.take(4), "little", signed=True)


def _long(width: int) -> Callable[[Cursor], Any]:
    def read(cursor: Cursor) -> Any:
        size = cursor.number(width)
        if size > LONGEST_INTEGER:
            cursor.skip(size)
            return Opaque("a very long integer")
        return int.from_bytes(cursor.take(size), "little", signed=True)

    return read


def _text(width: int) -> Callable[[Cursor], Any]:
    def read(cursor: Cursor) -> Any:
        size = cursor.number(width)
        if size > LONGEST_TEXT:
            return Payload("text", cursor.skip(size), size)
        return cursor.take(size).decode("utf-8", "surrogatepass")

    return read


def _bytes(width: int) -> Callable[[Cursor], Any]:
    def read(cursor: Cursor) -> Any:
        size = cursor.number(width)
        if size > LONGEST_BYTES:
            return Payload("bytes", cursor.skip(size), size)
        return cursor.take(size)

    return read


def _quoted_line(cursor: Cursor) -> Any:
    """A STRING of protocol 0: Python 2's `repr`. Long ones stay where they are, escapes and all."""
    begin, size = cursor.long_line()
    if size > LONGEST_TEXT:
        return Payload("escaped", begin, size)
    text = cursor.again(begin, size).strip()
    if len(text) < 2 or text[:1] != text[-1:] or text[:1] not in {b"'", b'"'}:  # noqa: PLR2004 (two quotes)
        raise BadPickleError("a text without its quotes")
    return _unquoted(unescaped(text[1:-1]))


_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|[\s\S])")
_LETTERS = {
    b"n": b"\n",
    b"t": b"\t",
    b"r": b"\r",
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"v": b"\v",
    b"\n": b"",
}


def unescaped(text: bytes) -> bytes:
    """The bytes that Python 2's `repr` of a string stands for."""
    return _ESCAPE.sub(_escape, text)


def _escape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if code[:1] == b"x" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    if code.isdigit() and code[:1] < b"8":
        return bytes([int(code, 8) & 0xFF])
    return _LETTERS.get(code, code)


def _unquoted(raw: bytes) -> str | bytes:
    """Python 2 did not say whether a string is text: names are, array contents are not."""
    return raw.decode("ascii") if raw.isascii() else raw


def _old_string(width: int) -> Callable[[Cursor], Any]:
    read_bytes = _bytes(width)

    def read(cursor: Cursor) -> Any:
        value = read_bytes(cursor)
        return _unquoted(value) if isinstance(value, bytes) else value

    return read


def _escaped_line(cursor: Cursor) -> Any:
    """A UNICODE of protocol 0."""
    begin, size = cursor.long_line()
    if size > LONGEST_TEXT:
        return Payload("escaped", begin, size)
    return cursor.again(begin, size).decode("raw-unicode-escape")


LITERALS: dict[int, Callable[[Cursor], Any]] = {
    ord("I"): _integer_line,
    ord("J"): _signed,
    ord("K"): lambda cursor: cursor.number(1),
    ord("M"): lambda cursor: cursor.number(2),
    ord("L"): _long_line,
    0x8A: _long(1),
    0x8B: _long(4),
    ord("F"): _float_line,
    ord("G"): _float,
    ord("N"): lambda _: None,
    0x88: lambda _: True,
    0x89: lambda _: False,
    ord("S"): _quoted_line,
    ord("U"): _old_string(1),
    ord("T"): _old_string(4),
    ord("V"): _escaped_line,
    0x8C: _text(1),
    ord("X"): _text(4),
    0x8D: _text(8),
    ord("C"): _bytes(1),
    ord("B"): _bytes(4),
    0x8E: _bytes(8),
    0x96: _bytes(8),
    ord(")"): lambda _: (),
    ord("]"): lambda _: [],
    ord("}"): lambda _: Table(),
    0x8F: lambda _: Bag(),
    0x97: lambda _: Opaque("an out-of-band buffer"),
}
"""What reads the rest of each opcode and gives its value."""
