"""NumPy's own format for one array: its header, parsed strictly, and its values.

https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf, Values
from jaxdoctor.storage.blobs import Blob, ReadAt, Region, whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.damage import (
    CorruptError,
    DamagedError,
    HostileError,
    TruncatedError,
    UnsupportedError,
    noted,
)
from jaxdoctor.storage.elements import Element, element
from jaxdoctor.storage.shapes import shape

MAGIC = b"\x93NUMPY"
LONGEST_HEADER = 64 << 10
"""NumPy itself refuses to parse more than 10,000 bytes unless asked to trust the file."""

_HEADER = re.compile(
    r"\s*\{\s*'descr'\s*:\s*(?P<descr>'[^'\\]*'|\[.*\])\s*,"
    r"\s*'fortran_order'\s*:\s*(?P<fortran>True|False)\s*,"
    r"\s*'shape'\s*:\s*\((?P<shape>[\d\sL,-]*)\)\s*,?\s*\}\s*\Z",
    re.DOTALL,
)
_OBJECTS = re.compile(r"'[|<>=]?O\d?'")
"""An array of objects, or of records with an object among their fields, is a pickle."""

BFLOAT16 = frozenset({"|V2", "<V2", ">V2"})
"""How NumPy spells ml_dtypes' bfloat16, and any other type of two bytes that it does not know."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """One array as its header describes it."""

    kind: Element | None
    spelled: str
    shape: tuple[int, ...]
    start: int
    """Where the content begins."""

    objects: bool
    """Whether the content is a pickle."""

    @property
    def elements(self) -> int:
        """How many."""
        return math.prod(self.shape)

    @property
    def end(self) -> int | None:
        """Where the content ends; None when the header does not tell."""
        width = self.kind.width if self.kind else _width(self.spelled)
        return None if width is None else self.start + width * self.elements


def read_record(read_at: ReadAt, offset: int, what: str) -> Record:
    """The header that begins at `offset`.

    Raises:
        CorruptError: it is none.
        HostileError: it is longer than any header, or its shape cannot be.
        TruncatedError: it is cut off.
    """
    begin = read_at(offset, 12)
    if not begin.startswith(MAGIC):
        raise CorruptError(f"{what} is no npy record")
    if len(begin) < 10:  # noqa: PLR2004 (magic, version, short length)
        raise TruncatedError(f"{what} ends in its header")
    wide = begin[6] >= 2  # noqa: PLR2004 (the version that brought longer headers)
    start = offset + (12 if wide else 10)
    length = int.from_bytes(begin[8:12] if wide else begin[8:10], "little")
    if length > LONGEST_HEADER:
        raise HostileError(f"{what} declares a header of {length:,} bytes")
    text = read_at(start, length)
    if len(text) < length:
        raise TruncatedError(f"{what} ends in its header")
    return _parsed(text.decode("utf-8", "replace"), start + length, what)


def _parsed(header: str, start: int, what: str) -> Record:
    match = _HEADER.match(header)
    if match is None:
        raise CorruptError(f"{what} has a header that is none: {header[:80]!r}")
    axes = [int(axis.strip().rstrip("L") or "-1") for axis in _split(match["shape"], what)]
    spelled = match["descr"].strip("'")
    kind = Element("bfloat16", spelled[0] == ">") if spelled in BFLOAT16 else element(spelled)
    return Record(
        kind=kind,
        spelled=spelled,
        shape=shape(axes, what),
        start=start,
        objects=_OBJECTS.search(match["descr"]) is not None,
    )


def _split(axes: str, what: str) -> list[str]:
    parts = [axis.strip() for axis in axes.split(",")]
    if parts and not parts[-1]:
        parts.pop()
    if not all(re.fullmatch(r"-?\d{1,25}L?", part) for part in parts):
        raise CorruptError(f"{what} has a shape that is none: ({axes[:80]})")
    return parts


def _width(spelled: str) -> int | None:
    """Bytes of an element of a type that is none of ours: "<U10", "|S5", "<M8[ns]", "|V1"."""
    match = re.fullmatch(r"[<>|=]?([USVMm])(\d{1,9})(\[.*\])?", spelled)
    if match is None:
        return None
    return int(match[2]) * (4 if match[1] == "U" else 1)


def record_leaves(record: Record, blob: Blob, path: str, budget: Budget) -> tuple[list[Leaf], list[Fault]]:
    """The leaf of a record, or those in the pickle that an object array is."""
    if record.objects:
        return _pickled_leaves(record, blob, path, budget)
    if record.kind is None:
        reason = f"its elements are {record.spelled[:80]}"
        return [Leaf(path=path, dtype="unknown", shape=record.shape, unsupported=reason)], []
    faults: list[Fault] = []
    values = None
    with noted(faults.append, leaf=path):
        values = _values(record, record.kind, blob, budget)
    leaf = Leaf(path=path, dtype=record.kind.name, shape=record.shape, values=values)
    return [leaf], faults


def _values(record: Record, kind: Element, blob: Blob, budget: Budget) -> Values:
    if record.start + record.elements * kind.width > blob.size:
        needed = record.start + record.elements * kind.width
        raise TruncatedError(f"its header declares {needed:,} bytes, and {blob.size:,} are there")
    return blob.values(record.start, record.elements, kind, budget)


def _pickled_leaves(record: Record, blob: Blob, path: str, budget: Budget) -> tuple[list[Leaf], list[Fault]]:
    # Few files hold an array of objects, and an eighth of the time of a small scan goes into these.
    from jaxdoctor.storage.pickles.arrays import Array, numpy_or_jax  # noqa: PLC0415
    from jaxdoctor.storage.pickles.files import faults_of, read_stream, tree_of  # noqa: PLC0415
    from jaxdoctor.storage.pickles.parts import Made  # noqa: PLC0415
    from jaxdoctor.storage.torch.tensors import nested_faults  # noqa: PLC0415

    stream = read_stream(blob, budget, start=record.start)

    def recognize(made: Made) -> Array | None:
        return numpy_or_jax(made, blob, budget)

    tree = tree_of(stream, recognize, prefix=path)
    return tree.leaves, [*faults_of(stream, blob.path), *nested_faults(stream, blob, budget), *tree.faults]


MOST_RECORDS = 1_000_000


def has_several(found: Candidate) -> bool:
    """Whether a second array begins where the first ends, as several calls of `np.save` leave them."""
    if not found.head.startswith(MAGIC):
        return False
    try:
        region = whole_file(found.path)
        with region.reading(Budget()) as read_at:
            end = read_record(read_at, 0, found.name).end
            return end is not None and read_at(end, len(MAGIC)) == MAGIC
    except DamagedError:
        return False


@dataclass
class Records:
    """The arrays of a file that holds one behind the other."""

    leaves: list[Leaf] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def read_records(
    region: Region, budget: Budget, found: Records, *, start: int = 0, names: Sequence[str] = ()
) -> None:
    """Adds every array from `start` on, called by `names` as far as they reach, and then by its number.

    Raises:
        DamagedError: what follows is no array, or cannot be found.
    """
    with region.reading(budget) as read_at:
        while start < region.size:
            index = len(found.leaves)
            name = names[index] if index < len(names) else f"leaf[{index}]"
            record = read_record(read_at, start, name)
            leaves, wrong = record_leaves(record, region, name, budget)
            found.leaves += leaves
            found.faults += wrong
            if record.end is None or record.objects:
                raise UnsupportedError(f"{name} does not say where it ends, so later leaves are not read")
            if len(found.leaves) > MOST_RECORDS:
                raise UnsupportedError(f"only the first {MOST_RECORDS} leaves are judged")
            start = record.end
