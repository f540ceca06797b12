"""Checkpoints of TensorFlow, one for each `.index` file, read without TensorFlow."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage.blobs import whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import DamagedError
from jaxdoctor.storage.tensor_bundles import FOOTER, MAGIC, read_bundle

EMPTY_KEY = b"\0\0"
"""How the first entry of a bundle begins: its key is empty. Other tables of LevelDB begin otherwise."""


def _recognizes(found: Candidate) -> bool:
    if not (found.head.startswith(EMPTY_KEY) or found.suffix == ".index"):
        return False
    try:
        region = whole_file(found.path)
        return region.size >= FOOTER and region.bytes(region.size - len(MAGIC), len(MAGIC), Budget()) == MAGIC
    except DamagedError:
        return False


def _read(path: Path, budget: Budget) -> Contents:
    bundle = read_bundle(path, budget)
    return Contents(
        leaves=bundle.leaves,
        bytes_total=bundle.bytes_total,
        faults=bundle.faults,
    )


READER = Reader(recognizes=_recognizes, read=_read, restored_by_jax=False)
