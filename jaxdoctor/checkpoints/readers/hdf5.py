"""HDF5 files, such as the weights of Keras 2."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.storage.blobs import whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.files import first_bytes
from jaxdoctor.storage.hdf5.files import MAGIC, read_hdf5


def _read(path: Path, budget: Budget) -> Checkpoint:
    before = budget.bytes_read
    region = whole_file(path)
    leaves, faults = read_hdf5(region, budget)
    return Checkpoint(
        path=str(path),
        format="hdf5",
        leaves=tuple(leaves),
        bytes_total=region.size,
        bytes_read=budget.bytes_read - before,
        faults=tuple(faults),
    )


READER = Reader(recognizes=lambda path: first_bytes(path, len(MAGIC)) == MAGIC, read=_read)
