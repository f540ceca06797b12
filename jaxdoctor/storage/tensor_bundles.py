"""TensorFlow's checkpoints: an index in LevelDB's table format, and raw tensors in files beside it.

The table: https://github.com/google/leveldb/blob/main/doc/table_format.md. The messages in it:
https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/protobuf/tensor_bundle.proto.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.storage.blobs import Region, whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.crc import crc32c
from jaxdoctor.storage.damage import CorruptError, TruncatedError, UnsupportedError, noted
from jaxdoctor.storage.elements import Element
from jaxdoctor.storage.files import inside
from jaxdoctor.storage.shapes import fits, shape

MAGIC = bytes.fromhex("57fb808b247547db")
FOOTER = 48
TRAILER = 5
"""A byte for the compression and four of a checksum, behind each block."""

LARGEST_BLOCK = 64 << 20
MOST_ENTRIES = 200_000
BITS = 7
LONGEST_NUMBER = 10
"""Bytes of a variable-length integer of 64 bits."""

DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 8: "complex64", 9: "int64",
    10: "bool", 14: "bfloat16", 17: "uint16", 18: "complex128", 19: "float16", 22: "uint32", 23: "uint64",
    24: "float8_e5m2", 25: "float8_e4m3fn",
}  # fmt: skip
STRING = 7
GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
VALUE_ENDING = "/.ATTRIBUTES/VARIABLE_VALUE"


@dataclass
class Bundle:
    """What an index and its data files hold."""

    leaves: list[Leaf] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    bytes_total: int = 0


def read_bundle(index: Path, budget: Budget) -> Bundle:
    """The leaves of one bundle."""
    bundle = Bundle()
    with noted(bundle.faults.append, path=str(index)):
        region = whole_file(index)
        bundle.bytes_total += region.size
        entries = dict(_entries(region, budget))
        shards = _Shards(index, _number(_fields(entries.pop(b"", b"")), 1, 1), bundle)
        for key, value in entries.items():
            name = key.decode("utf-8", "replace").removesuffix(VALUE_ENDING)
            if name != GRAPH:
                with noted(bundle.faults.append, path=str(index), leaf=name):
                    bundle.leaves.append(_leaf(name, _fields(value), shards, budget))
    return bundle


class _Shards:
    """The data files, each opened once."""

    def __init__(self, index: Path, count: int, bundle: Bundle) -> None:
        self.index, self.count, self.bundle = index, count, bundle
        self.known: dict[int, Region | None] = {}

    def region(self, number: int) -> Region | None:
        """One file; None when it is missing, which is noted once."""
        if number not in self.known:
            self.known[number] = None
            name = f"{self.index.name.removesuffix('.index')}.data-{number:05d}-of-{self.count:05d}"
            with noted(self.bundle.faults.append, path=str(self.index)):
                region = whole_file(inside(self.index.parent, name), root=self.index.parent)
                self.known[number] = region
                self.bundle.bytes_total += region.size
        return self.known[number]


Fields = dict[int, list[int | bytes]]


def _leaf(name: str, entry: Fields, shards: _Shards, budget: Budget) -> Leaf:
    kind = _number(entry, 1, 0)
    axes = shape(_axes(entry), "a tensor")
    if 7 in entry:  # noqa: PLR2004 (the field of slices)
        raise UnsupportedError("it is partitioned into slices, which are not put together")
    if kind not in DTYPES:
        reason = (
            "its elements are texts" if kind == STRING else f"its elements are of TensorFlow's type {kind}"
        )
        return Leaf(path=name, dtype="unknown", shape=axes, unsupported=reason)
    element = Element(DTYPES[kind])
    elements, size = math.prod(axes), _number(entry, 5, 0)
    fits(elements, element, size, "a tensor")
    region = shards.region(_number(entry, 3, 0))
    if region is None:
        return Leaf(path=name, dtype=element.name, shape=axes)
    values = region.part(_number(entry, 4, 0), size, "a tensor").values(0, elements, element, budget)
    return Leaf(path=name, dtype=element.name, shape=axes, values=values)


def _axes(entry: Fields) -> list[int]:
    declared = entry.get(2, [b""])[-1]
    dimensions = _fields(declared if isinstance(declared, bytes) else b"").get(2, [])
    return [_number(_fields(one), 1, 0) for one in dimensions if isinstance(one, bytes)]


def _entries(region: Region, budget: Budget) -> Iterator[tuple[bytes, bytes]]:
    """Every key and value of the table, in order."""
    if region.size < FOOTER:
        raise TruncatedError("it ends before its footer")
    footer = region.bytes(region.size - FOOTER, FOOTER, budget)
    if not footer.endswith(MAGIC):
        raise TruncatedError("it does not end as an index does")
    place = 0
    for _ in range(2):
        _, place = _variable(footer, place)
    index = _block(region, footer, place, budget)
    seen = 0
    for _, handle in _pairs(index):
        for pair in _pairs(_block(region, handle, 0, budget)):
            seen += 1
            if seen > MOST_ENTRIES:
                raise UnsupportedError(f"only {MOST_ENTRIES} tensors are read")
            yield pair


def _block(region: Region, handle: bytes, place: int, budget: Budget) -> bytes:
    """The block that a handle, an offset and a size, points to."""
    offset, place = _variable(handle, place)
    size, _ = _variable(handle, place)
    if size > LARGEST_BLOCK:
        raise CorruptError(f"a block of the index has {size:,} bytes")
    raw = region.part(offset, size + TRAILER, "a block of the index").bytes(0, size + TRAILER, budget)
    if raw[size]:
        how = "by snappy" if raw[size] == 1 else f"in the way {raw[size]}"
        raise UnsupportedError(
            f"a block of the index is compressed {how}, so its tensors are not judged",
            hint="restore it with TensorFlow, and save it again",
        )
    (stored,) = struct.unpack("<I", raw[size + 1 :])
    if _masked(crc32c(raw[: size + 1])) != stored:
        raise CorruptError("the checksum of a block of the index is wrong")
    return raw[:size]


def _pairs(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys share their beginnings with the one before; offsets of restarts follow the last pair."""
    if len(block) < 4:  # noqa: PLR2004 (the number of restarts)
        raise CorruptError("a block of the index is too short")
    (restarts,) = struct.unpack("<I", block[-4:])
    end = len(block) - 4 - 4 * restarts
    place, key = 0, b""
    while place < end:
        shared, place = _variable(block, place)
        own, place = _variable(block, place)
        size, place = _variable(block, place)
        if shared > len(key) or place + own + size > end:
            raise CorruptError("a key of the index is broken")
        key = key[:shared] + block[place : place + own]
        place += own
        yield key, block[place : place + size]
        place += size


def _variable(content: bytes, place: int) -> tuple[int, int]:
    """A variable-length integer, and the place behind it."""
    value = 0
    for index, byte in enumerate(content[place : place + LONGEST_NUMBER]):
        value |= (byte & 0x7F) << BITS * index
        if not byte & 0x80:
            return value, place + index + 1
    raise CorruptError("a number in the index does not end")


def _fields(message: int | bytes) -> Fields:
    """The fields of a protocol buffer, by number."""
    content = message if isinstance(message, bytes) else b""
    found: Fields = {}
    place = 0
    while place < len(content):
        tag, place = _variable(content, place)
        value: int | bytes
        if tag & 7 == 0:
            value, place = _variable(content, place)
        else:
            size, place = _length(content, place, tag & 7)
            value = content[place : place + size]
            place += size
        found.setdefault(tag >> 3, []).append(value)
    return found


def _length(content: bytes, place: int, wire: int) -> tuple[int, int]:
    """The bytes of a field that is no plain integer, and where they begin."""
    fixed = {1: 8, 5: 4}
    if wire == 2:  # noqa: PLR2004 (the wire type of bytes)
        size, place = _variable(content, place)
    elif wire in fixed:
        size = fixed[wire]
    else:
        raise CorruptError("a message in the index is broken")
    if place + size > len(content):
        raise CorruptError("a message in the index is cut off")
    return size, place


def _number(fields: Fields, number: int, default: int) -> int:
    """An integer field; negative ones are stored as their two's complement of 64 bits."""
    value = fields.get(number, [default])[-1]
    if not isinstance(value, int):
        return default
    return value - (1 << 64) if value >= 1 << 63 else value


def _masked(crc: int) -> int:
    """LevelDB stores checksums turned and shifted, since files hold checksums of checksums."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
