"""One array in NumPy's own format; a dictionary that `np.save` pickled into one is read inertly."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.storage.blobs import whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import CorruptError, noted
from jaxdoctor.storage.npy import MAGIC, has_several, read_record, record_leaves


def _read(path: Path, budget: Budget) -> Contents:
    region = whole_file(path)
    leaves: list[Leaf] = []
    faults: list[Fault] = []
    with noted(faults.append, path=str(path)):
        with region.reading(budget) as read_at:
            record = read_record(read_at, 0, path.name)
        leaves, found = record_leaves(record, region, "" if record.objects else "array", budget)
        faults += found
        if record.end is not None and record.end < region.size and not record.objects:
            raise CorruptError(f"{region.size - record.end:,} bytes follow the array")
    return Contents(
        leaves=leaves,
        faults=faults,
    )


READER = Reader(
    recognizes=lambda found: found.head.startswith(MAGIC) and not has_several(found),
    read=_read,
    order=60,
    restored_by_jax=False,
    suffixes=(".npy",),
)
