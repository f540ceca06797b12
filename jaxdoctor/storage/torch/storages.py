"""The raw storages of a torch file: where they lie, and what a pickle says of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jaxdoctor.storage.blobs import Region
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import CorruptError, DamagedError, HostileError, MissingError, TruncatedError
from jaxdoctor.storage.elements import Element
from jaxdoctor.storage.pickles.files import Stream, read_stream
from jaxdoctor.storage.pickles.parts import Global, Persistent

STORAGES = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16", "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16",
    "CharStorage": "int8", "ByteStorage": "uint8", "BoolStorage": "bool", "UntypedStorage": "uint8",
    "ComplexFloatStorage": "complex64", "ComplexDoubleStorage": "complex128",
}  # fmt: skip
QUANTIZED_WIDTHS = {"QInt8Storage": 1, "QUInt8Storage": 1, "QInt32Storage": 4, "QUInt4x2Storage": 1}
"""Bytes of an element of storages that are counted and not looked at."""

LEGACY_PICKLES = 5
"""The magic number, the protocol, facts about the system, the object, and the keys of its storages."""


@dataclass
class Storages:
    """Where the raw storages of one file lie, by their key."""

    regions: dict[str, Region] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    big_endian: bool = False

    def region(self, key: str) -> Region:
        """The bytes of one storage.

        Raises:
            DamagedError: the file does not hold it, or holds it in a way that torch does not write.
        """
        if key in self.problems:
            raise HostileError(self.problems[key])
        if key not in self.regions:
            raise MissingError(f"the storage {key[:40]!r} is not in the file")
        return self.regions[key]


def storage_of(node: Any) -> tuple[str, str, int] | None:
    """A storage's element type ("" when it is none of ours), its key, and how many elements it has."""
    identity = node.identity if isinstance(node, Persistent) else None
    if not isinstance(identity, tuple) or len(identity) < 5 or identity[0] != "storage":  # noqa: PLR2004
        return None
    kind, key, count = identity[1], identity[2], identity[4]
    if not isinstance(kind, Global) or not isinstance(key, (str, int)) or not isinstance(count, int):
        return None
    return STORAGES.get(kind.name, ""), str(key), count


def _width(node: Persistent) -> int | None:
    """Bytes of an element of a storage."""
    found = storage_of(node)
    if found is None:
        return None
    return Element(found[0]).width if found[0] else QUANTIZED_WIDTHS.get(node.identity[1].name)


@dataclass
class Legacy:
    """The five pickles of a legacy file, and its storages."""

    stream: Stream
    storages: Storages = field(default_factory=Storages)
    problem: DamagedError | None = None


def read_legacy(region: Region, budget: Budget) -> Legacy:
    """Reads the pickles, and tells where the raw storages behind them are."""
    file = Legacy(read_stream(region, budget, most=LEGACY_PICKLES))
    pickles = file.stream.pickles
    try:
        if len(pickles) < LEGACY_PICKLES or not isinstance(pickles[-1].root, list):
            raise TruncatedError("it ends before its list of storages")
        _locate(file, region, budget)
    except DamagedError as error:
        file.problem = error
    return file


def _locate(file: Legacy, region: Region, budget: Budget) -> None:
    """Raw storages follow the last pickle in the order of the keys, each behind its number of elements."""
    pickles = file.stream.pickles
    widths = {}
    for node in pickles[3].persistent:
        found, width = storage_of(node), _width(node)
        if found is not None and width is not None:
            widths[found[1]] = width
    place = pickles[-1].end
    with region.reading(budget) as read_at:
        for key in map(str, pickles[-1].root):
            if key not in widths:
                raise CorruptError(f"the storage {key[:40]!r} belongs to no tensor")
            size = int.from_bytes(read_at(place, 8), "little") * widths[key]
            file.storages.regions[key] = region.part(place + 8, size, f"the storage {key[:40]!r}")
            place += 8 + size
