"""What `eqx.tree_serialise_leaves` writes: npy records in a row, without names, maybe after a JSON line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.facts.checkpoint import Fault, Leaf
from jaxdoctor.storage import json_text
from jaxdoctor.storage.blobs import ReadAt, Region, whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import CorruptError, DamagedError, UnsupportedError, noted
from jaxdoctor.storage.npy import MAGIC, read_record, record_leaves

LONGEST_LINE = 1 << 20
"""Bytes of hyperparameters in front of the leaves."""

SIGHT = 4096
MOST_RECORDS = 1_000_000
WIDE = frozenset({"float64", "int64", "complex128", "bool"})
"""How Equinox stores Python numbers: as arrays without axes."""


def _recognizes(found: Candidate) -> bool:
    head = found.head
    if head.startswith(b"{"):
        return b"}\n" + MAGIC in head
    if not head.startswith(MAGIC):
        return False
    try:
        region = whole_file(found.path)
        with region.reading(Budget()) as read_at:
            end = read_record(read_at, 0, found.name).end
            return end is not None and read_at(end, len(MAGIC)) == MAGIC
    except DamagedError:
        return False


def _read(path: Path, budget: Budget) -> Contents:
    region = whole_file(path)
    leaves: list[Leaf] = []
    faults: list[Fault] = []
    metadata: dict[str, Any] = {}
    with noted(faults.append, path=str(path)), region.reading(budget) as read_at:
        start = _hyperparameters(read_at, metadata, budget)
        _records(region, read_at, start, leaves, faults, budget)
    return Contents(
        leaves=leaves,
        metadata=metadata,
        faults=faults,
    )


def _hyperparameters(read_at: ReadAt, metadata: dict[str, Any], budget: Budget) -> int:
    """Reads the first line when it is JSON, and says where the records begin."""
    head = read_at(0, SIGHT)
    if not head.startswith(b"{"):
        return 0
    end = head.find(b"\n" + MAGIC)
    if end < 0:
        end = read_at(0, LONGEST_LINE).find(b"\n" + MAGIC)
    if end < 0:
        raise CorruptError("no array follows the first line")
    metadata["hyperparameters"] = json_text.parse(read_at(0, end), budget, "the first line")
    return end + 1


def _records(
    region: Region, read_at: ReadAt, start: int, leaves: list[Leaf], faults: list[Fault], budget: Budget
) -> None:
    while start < region.size:
        name = f"leaf[{len(leaves)}]"
        record = read_record(read_at, start, name)
        found, wrong = record_leaves(record, region, name, budget)
        leaves += [replace(leaf, host_scalar=not leaf.shape and leaf.dtype in WIDE) for leaf in found]
        faults += wrong
        if record.end is None or record.objects:
            raise UnsupportedError(f"{name} does not say where it ends, so later leaves are not read")
        if len(leaves) > MOST_RECORDS:
            raise UnsupportedError(f"only the first {MOST_RECORDS} leaves are judged")
        start = record.end


READER = Reader(recognizes=_recognizes, read=_read, order=40, suffixes=(".eqx",))
