"""safetensors files, and the index of a sharded model."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.safetensors import Tensors, is_index, is_safetensors, read_index, read_tensors


def _recognizes(path: Path) -> bool:
    return path.is_file() and (is_safetensors(path) or is_index(path))


def _read(path: Path, budget: Budget) -> Checkpoint:
    before = budget.bytes_read
    found = Tensors()
    if is_safetensors(path):
        read_tensors(path, budget, found)
    else:
        read_index(path, budget, found)
    return Checkpoint(
        path=str(path),
        format="safetensors",
        leaves=tuple(found.leaves),
        metadata=found.metadata,
        bytes_total=found.bytes_total,
        bytes_read=budget.bytes_read - before,
        faults=tuple(found.faults),
    )


READER = Reader(recognizes=_recognizes, read=_read)
