"""HDF5 files, such as the weights of Keras 2."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage.blobs import whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.hdf5.files import MAGIC, read_hdf5


def _read(path: Path, budget: Budget) -> Contents:
    region = whole_file(path)
    leaves, faults = read_hdf5(region, budget)
    return Contents(
        leaves=leaves,
        faults=faults,
    )


READER = Reader(
    recognizes=lambda found: found.head.startswith(MAGIC),
    read=_read,
    restored_by_jax=False,
    suffixes=(".h5", ".hdf5"),
)
