"""Folders of torch.distributed.checkpoint, as torchtitan, FSDP and Megatron write them."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.torch.distributed import is_distributed, read_distributed


def _read(path: Path, budget: Budget) -> Checkpoint:
    before = budget.bytes_read
    group = read_distributed(path, budget)
    return Checkpoint(
        path=str(path),
        format="torch-distributed",
        leaves=tuple(group.leaves),
        metadata=group.metadata,
        bytes_total=group.bytes_total,
        bytes_read=budget.bytes_read - before,
        faults=tuple(group.faults),
    )


READER = Reader(recognizes=is_distributed, read=_read)
