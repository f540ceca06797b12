"""Folders of torch.distributed.checkpoint, as torchtitan, FSDP and Megatron write them."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import UnfinishedError
from jaxdoctor.storage.torch.distributed import is_distributed, read_distributed


def _read(path: Path, budget: Budget) -> Contents:
    group = read_distributed(path, budget)
    return Contents(
        leaves=group.leaves,
        metadata=group.metadata,
        bytes_total=group.bytes_total,
        faults=group.faults,
        finished=not any(fault.kind == UnfinishedError.kind for fault in group.faults),
    )


READER = Reader(recognizes=is_distributed, read=_read, restored_by_jax=False, folders=True)
