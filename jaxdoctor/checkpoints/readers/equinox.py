"""What `eqx.tree_serialise_leaves` writes: npy records in a row, without names, maybe after a JSON line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage import json_text
from jaxdoctor.storage.blobs import ReadAt, whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import CorruptError, noted
from jaxdoctor.storage.npy import MAGIC, Records, has_several, read_records

LONGEST_LINE = 1 << 20
"""Bytes of hyperparameters in front of the leaves."""

SIGHT = 4096
WIDE = frozenset({"float64", "int64", "complex128", "bool"})
"""How Equinox stores Python numbers: as arrays without axes."""


def _recognizes(found: Candidate) -> bool:
    head = found.head
    if head.startswith(b"{"):
        return b"}\n" + MAGIC in head
    return has_several(found)


def _read(path: Path, budget: Budget) -> Contents:
    region = whole_file(path)
    found = Records()
    metadata: dict[str, Any] = {}
    with noted(found.faults.append, path=str(path)):
        with region.reading(budget) as read_at:
            start = _hyperparameters(read_at, metadata, budget)
        read_records(region, budget, found, start=start)
    leaves = [replace(leaf, host_scalar=not leaf.shape and leaf.dtype in WIDE) for leaf in found.leaves]
    return Contents(leaves=leaves, metadata=metadata, faults=found.faults)


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


READER = Reader(recognizes=_recognizes, read=_read, order=40, suffixes=(".eqx",))
