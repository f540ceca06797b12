"""Lists an OCDBT database: what keys it holds, and where in which file each value lies.

TensorStore decodes the manifest and the B-tree's nodes, and checks their checksums; it is handed their bytes,
and never a path. https://google.github.io/tensorstore/kvstore/ocdbt/index.html
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import CorruptError, HostileError, TruncatedError, UnsupportedError
from jaxdoctor.storage.files import inside, open_regular, read_exactly, read_whole
from jaxdoctor.storage.spans import Span
from jaxdoctor.storage.zarr.codecs import inflated

MANIFEST = "manifest.ocdbt"
MANIFEST_MAGIC = b"\x0c\xdb\x3a\x2a"
NODE_MAGIC = b"\x0c\xdb\x20\xde"
HEADER = 12
"""A magic number and the length."""

CHECKSUM = 4
LARGEST = 100_000_000
"""Bytes of a manifest or a node, stored or decoded: Orbax's own limit."""

INFLATION = 16
"""Bytes of memory for each decoded byte of a node."""

HEIGHT = 1
"""Bytes before a decoded node's table of files."""

LONGEST_KEY = 4096
"""Bytes of a key. Orbax's are as long as the way to a leaf."""

ENTRY = 1024
"""Bytes of memory for each entry of a node, however short."""


@dataclass(frozen=True)
class _Place:
    """`btreenode:<base>:<path>:<offset>:<length>` as TensorStore prints it."""

    name: str
    offset: int
    size: int


def entries(folder: Path, budget: Budget) -> dict[str, Span]:
    """Every key of the database in `folder`, with its value's bytes or where they lie.

    Raises:
        DamagedError: the manifest or a node cannot be read, or asks for what no honest writer writes.
        OverBudgetError: the tree needs more memory than is allowed.
    """
    return _Tree(folder, budget).walk()


class _Tree:
    """One walk from the manifest down. Everything is bounded by what the budget allows in sum."""

    def __init__(self, folder: Path, budget: Budget) -> None:
        import tensorstore

        self.folder = folder
        self.budget = budget
        self.memory = tensorstore.KvStore.open("memory://").result()
        self.held = 0
        self.found: dict[str, Span] = {}

    def walk(self) -> dict[str, Span]:
        root, height = self._root()
        waiting: list[tuple[bytes, str, int]] = [(b"", root, height)] if root else []
        visited = set()
        while waiting:
            prefix, location, height = waiting.pop()
            if location in visited:
                raise HostileError(f"{self.folder} has a B-tree in which a node stands twice")
            visited.add(location)
            node = self._node(_place(location))
            if node.get("height") != height:
                raise CorruptError(f"{self.folder} has a B-tree node of another height than its parent says")
            for entry in node["entries"]:
                key = prefix + entry["subtree_common_prefix" if height else "key"]
                if len(key) > LONGEST_KEY:
                    raise HostileError(f"{self.folder} has a key of {len(key):,} bytes")
                if height:
                    waiting.append((key, entry["location"], height - 1))
                else:
                    self.found[_text(key)] = self._value(entry)
        _insist_apart(self.found)
        return self.found

    def _root(self) -> tuple[str | None, int]:
        stored = read_whole(self.folder / MANIFEST, self.budget, limit=LARGEST, root=self.folder)
        self._insist_small(stored, MANIFEST_MAGIC, MANIFEST)
        manifest = self._dump(MANIFEST, stored, None)
        versions = manifest.get("versions")
        if not versions:
            raise UnsupportedError(f"{self.folder / MANIFEST} does not hold its newest version itself")
        newest = versions[-1]
        return newest["root"].get("location"), newest.get("root_height", 0)

    def _node(self, place: _Place) -> Mapping[str, Any]:
        path = inside(self.folder, place.name)
        if place.size > LARGEST:
            raise HostileError(f"{path} is said to hold a B-tree node of {place.size:,} bytes")
        with open_regular(path, root=self.folder) as file:
            there, end = os.fstat(file.fileno()).st_size, place.offset + place.size
            if end > there:
                raise TruncatedError(
                    f"{path.name} is cut off: it needs {end:,} bytes and {there:,} are there"
                )
            stored = read_exactly(file, place.offset, place.size, self.budget)
        self._insist_small(stored, NODE_MAGIC, f"a B-tree node in {path.name}")
        return self._dump("node", stored, f"btreenode::node:0:{len(stored)}")

    def _dump(self, name: str, stored: bytes, location: str | None) -> dict[str, Any]:
        from tensorstore import ocdbt

        try:
            self.memory.write(name, stored).result()
            value = ocdbt.dump(self.memory, location).result()
        except (ValueError, OSError, UnicodeDecodeError) as error:
            raise CorruptError(f"{self.folder / MANIFEST} cannot be decoded: {_brief(error)}") from error
        assert isinstance(value, dict)
        return value

    def _insist_small(self, stored: bytes, magic: bytes, what: str) -> None:
        """Decompresses first with a bound of our own, since TensorStore has none."""
        if not stored:
            raise TruncatedError(f"{what} is empty")
        if stored[:4] != magic:
            raise CorruptError(f"{what} does not begin as OCDBT does")
        if len(stored) < HEADER + 2 + CHECKSUM:
            raise TruncatedError(f"{what} ends after {len(stored):,} bytes")
        declared = int.from_bytes(stored[4:HEADER], "little")
        if declared > len(stored):
            raise TruncatedError(f"{what} is cut off: it has {len(stored):,} of its {declared:,} bytes")
        codec = "zstd" if stored[HEADER + 1] else None
        body = stored[HEADER + 2 : -CHECKSUM]
        room = max((self.budget.memory - self.held) // INFLATION, 0)
        plain = inflated(body, codec, min(room, LARGEST) + 1, self.budget)
        if len(plain) > LARGEST:
            raise HostileError(f"{what} decompresses to more than {LARGEST:,} bytes")
        self.held += len(plain) * INFLATION
        if magic == NODE_MAGIC:
            self.held += _weight(plain)
        self.budget.allow(self.held, f"the index in {self.folder / MANIFEST}")

    def _value(self, entry: Mapping[str, Any]) -> Span:
        if "inline_value" in entry:
            held = entry["inline_value"]
            return Span(size=len(held), held=held)
        place = _place(entry["indirect_value"])
        path = inside(self.folder, place.name)
        return Span(size=place.size, path=path, root=self.folder, offset=place.offset)


def _insist_apart(found: Mapping[str, Span]) -> None:
    """Values that share bytes would be read many times over."""
    placed = sorted(
        (str(span.path), span.offset, span.size, key)
        for key, span in found.items()
        if span.path is not None and span.size
    )
    for (path, offset, size, key), (other, start, _, name) in itertools.pairwise(placed):
        if path == other and start < offset + size:
            raise HostileError(f"the values of {key[:80]!r} and {name[:80]!r} overlap in {path}")


def _weight(node: bytes) -> int:
    """The bytes of memory that a decoded node's keys and paths become, which share their beginnings in it."""
    files, position = _varint(node, HEIGHT)
    shared, position = _varints(node, position, max(files - 1, 0))
    own, position = _varints(node, position, files)
    _, position = _varints(node, position, files)
    longest = max(map(sum, zip([0, *shared], own, strict=False)), default=0)
    count, position = _varint(node, position + sum(own))
    shared, position = _varints(node, position, max(count - 1, 0))
    own, position = _varints(node, position, count)
    return longest * count + sum(shared) + sum(own) + count * ENTRY


def _varints(text: bytes, position: int, count: int) -> tuple[list[int], int]:
    if count > len(text) - position:
        raise CorruptError("a B-tree node declares more than it holds")
    found = []
    for _ in range(count):
        value, position = _varint(text, position)
        found.append(value)
    return found, position


def _varint(text: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(text):
        byte = text[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80 or shift > 63:  # noqa: PLR2004 (the format's own numbers)
            return value, position
    raise CorruptError("a B-tree node ends in its header")


def _place(location: str) -> _Place:
    try:
        _, base, name, offset, size = location.split(":")
        return _Place(unquote(base) + unquote(name), int(offset), int(size))
    except ValueError as error:
        raise CorruptError(f"a B-tree node names the place {location[:80]!r}") from error


def _text(key: bytes) -> str:
    return key.decode("utf-8", "backslashreplace")


def _brief(error: Exception) -> str:
    return str(error).split(" [source locations", maxsplit=1)[0][:200]
