"""Checkpoints of TensorFlow, one for each `.index` file, read without TensorFlow."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.storage.blobs import whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import DamagedError
from jaxdoctor.storage.files import first_bytes
from jaxdoctor.storage.tensor_bundles import FOOTER, MAGIC, read_bundle

EMPTY_KEY = b"\0\0"
"""How the first entry of a bundle begins: its key is empty. Other tables of LevelDB begin otherwise."""


def _recognizes(path: Path) -> bool:
    if first_bytes(path, len(EMPTY_KEY)) != EMPTY_KEY:
        return False
    try:
        region = whole_file(path)
        return region.size >= FOOTER and region.bytes(region.size - len(MAGIC), len(MAGIC), Budget()) == MAGIC
    except DamagedError:
        return False


def _read(path: Path, budget: Budget) -> Checkpoint:
    before = budget.bytes_read
    bundle = read_bundle(path, budget)
    return Checkpoint(
        path=str(path),
        format="tensorflow",
        leaves=tuple(bundle.leaves),
        bytes_total=bundle.bytes_total,
        bytes_read=budget.bytes_read - before,
        faults=tuple(bundle.faults),
    )


READER = Reader(recognizes=_recognizes, read=_read)
