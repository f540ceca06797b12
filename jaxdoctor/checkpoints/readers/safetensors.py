"""safetensors files, and the index of a sharded model."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.safetensors import Tensors, is_index, is_safetensors, read_index, read_tensors


def _recognizes(found: Candidate) -> bool:
    return is_safetensors(found) or is_index(found)


def _read(path: Path, budget: Budget) -> Contents:
    found = Tensors()
    if is_safetensors(Candidate(path)):
        read_tensors(path, budget, found)
    else:
        read_index(path, budget, found)
    return Contents(
        leaves=found.leaves,
        metadata=found.metadata,
        bytes_total=found.bytes_total,
        faults=found.faults,
    )


READER = Reader(recognizes=_recognizes, read=_read, restored_by_jax=False, suffixes=(".safetensors",))
