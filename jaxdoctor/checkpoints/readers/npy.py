"""One array in NumPy's own format; a dictionary that `np.save` pickled into one is read inertly."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.facts.checkpoint import Checkpoint, Fault, Leaf
from jaxdoctor.storage.blobs import whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import CorruptError, noted
from jaxdoctor.storage.files import first_bytes
from jaxdoctor.storage.npy import MAGIC, read_record, record_leaves


def _read(path: Path, budget: Budget) -> Checkpoint:
    before = budget.bytes_read
    region = whole_file(path)
    leaves: list[Leaf] = []
    faults: list[Fault] = []
    with noted(faults.append, path=str(path)):
        with region.reading(budget) as read_at:
            record = read_record(read_at, 0, path.name)
        leaves, found = record_leaves(record, region, "" if record.objects else "array", budget)
        faults += found
        if record.end is not None and record.end < region.size and not record.objects:
            raise CorruptError(f"{region.size - record.end} bytes follow the array")
    return Checkpoint(
        path=str(path),
        format="npy",
        leaves=tuple(leaves),
        bytes_total=region.size,
        bytes_read=budget.bytes_read - before,
        faults=tuple(faults),
    )


READER = Reader(recognizes=lambda path: first_bytes(path, len(MAGIC)) == MAGIC, read=_read, order=60)
