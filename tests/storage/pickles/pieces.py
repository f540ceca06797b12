"""Pieces of pickles, put together by hand."""

from jaxdoctor.storage.pickles.machine import read_pickle
from jaxdoctor.storage.pickles.source import Cursor

START = b"\x80\x04"


def text(value: str) -> bytes:
    return b"\x8c" + bytes([len(value)]) + value.encode()


def named(full: str) -> bytes:
    """Pushes "module:name"."""
    module, _, name = full.partition(":")
    return text(module) + text(name) + b"\x93"


def called(full: str, *arguments: bytes) -> bytes:
    """Calls it with what the pieces push."""
    return named(full) + b"(" + b"".join(arguments) + b"tR"


def walked(content: bytes):
    return read_pickle(Cursor(lambda offset, size: content[offset : offset + size], len(content)), 64 << 20)
