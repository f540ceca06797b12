"""Where the tensors of a GGUF file end, from its header; their values are not read.

https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

from jaxdoctor.storage.blobs import ReadAt, whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import CorruptError, TruncatedError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a value by its type's number; strings and arrays have lengths of their own."""

STRING, ARRAY = 8, 9
BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 40),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292),
    24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 30: (1, 2),
}  # fmt: skip
"""Elements and bytes of a block by the tensor's type; a type that is not here counts no bytes."""

ALIGNMENT = 32
MOST = 1_000_000
"""Entries and tensors that are walked through."""

DEEPEST_ARRAY = 4
WINDOW = 1 << 20


def insist_whole(path: Path, budget: Budget) -> None:
    """Insists that a file holds the tensors that its header names.

    Raises:
        DamagedError: it ends before, or its header breaks off.
    """
    region = whole_file(path)
    with region.reading(budget) as read_at:
        header = _Header(read_at, region.size)
        needed = header.end_of_tensors()
    if needed > region.size:
        raise TruncatedError(
            f"{path.name} ends at byte {region.size:,}, and its tensors need {needed:,} bytes"
        )


class _Header:
    """Walks through a header in windows of a bounded size."""

    def __init__(self, read_at: ReadAt, size: int) -> None:
        self.read_at = read_at
        self.size = size
        self.place = 0
        self.window = b""
        self.begin = 0
        self.alignment = ALIGNMENT

    def end_of_tensors(self) -> int:
        """The byte behind the last tensor; 0 of a version whose layout is another."""
        if self._bytes(len(MAGIC)) != MAGIC or self._number("<I") not in VERSIONS:
            return 0
        tensors, entries = self._number("<Q"), self._number("<Q")
        if max(tensors, entries) > MOST:
            raise CorruptError(f"its header announces {tensors} tensors and {entries} entries")
        for _ in range(entries):
            self._entry()
        ends = [self._tensor() for _ in range(tensors)]
        start = math.ceil(self.place / self.alignment) * self.alignment
        return start + max(ends, default=0)

    def _entry(self) -> None:
        key = self._bytes(self._number("<Q"))
        kind = self._number("<I")
        if key == b"general.alignment" and WIDTHS.get(kind) == 4:  # noqa: PLR2004 (a uint32)
            self.alignment = max(1, self._number("<I"))
        else:
            self._skip_value(kind)

    def _skip_value(self, kind: int, depth: int = 0) -> None:
        if kind == STRING:
            self._skip(self._number("<Q"))
        elif kind == ARRAY and depth < DEEPEST_ARRAY:
            below, count = self._number("<I"), self._number("<Q")
            if below in WIDTHS:
                self._skip(WIDTHS[below] * count)
                return
            if count > MOST:
                raise CorruptError(f"its header holds an array of {count} values")
            for _ in range(count):
                self._skip_value(below, depth + 1)
        elif kind in WIDTHS:
            self._skip(WIDTHS[kind])
        else:
            raise CorruptError(f"its header holds a value of the unknown type {kind}")

    def _tensor(self) -> int:
        self._skip(self._number("<Q"))
        axes = self._number("<I")
        if axes > 8:  # noqa: PLR2004 (GGML has four)
            raise CorruptError(f"a tensor of its header has {axes} axes")
        elements = math.prod(self._number("<Q") for _ in range(axes))
        kind, offset = self._number("<I"), self._number("<Q")
        block, width = BLOCKS.get(kind, (1, 0))
        return offset + math.ceil(elements / block) * width

    def _number(self, layout: str) -> int:
        (value,) = struct.unpack(layout, self._bytes(struct.calcsize(layout)))
        return int(value)

    def _skip(self, count: int) -> None:
        self.place += count
        if self.place > self.size:
            raise TruncatedError(f"its header needs {self.place:,} bytes, and the file has {self.size:,}")

    def _bytes(self, count: int) -> bytes:
        place = self.place
        self._skip(count)
        if not self.begin <= place <= self.place <= self.begin + len(self.window):
            self.begin = place
            self.window = self.read_at(place, max(count, WINDOW) if count <= WINDOW else count)
        return self.window[place - self.begin : self.place - self.begin]
