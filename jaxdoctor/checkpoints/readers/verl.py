"""Folders in which every rank of an FSDP run wrote its shard, `model_world_size_8_rank_3.pt`, as in verl."""

from __future__ import annotations

import re
from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.torch.files import TorchFile
from jaxdoctor.storage.torch.ranks import read_ranks

NAME = re.compile(r"(model|optim|extra_state)_world_size_(\d{1,6})_rank_(\d{1,6})\.pt")


def _recognizes(found: Candidate) -> bool:
    return any(map(NAME.fullmatch, found.entries))


def _read(path: Path, budget: Budget) -> Contents:
    groups: dict[tuple[str, int], dict[int, Path]] = {}
    for entry in sorted(path.iterdir()):
        match = NAME.fullmatch(entry.name)
        if match is not None:
            groups.setdefault((match[1], int(match[2])), {})[int(match[3])] = entry
    found = TorchFile()
    for (kind, world), files in sorted(groups.items()):
        group = read_ranks(files, world, budget, prefix=f"{kind}/")
        found.leaves += group.leaves
        found.faults += group.faults
        found.bytes_total += group.bytes_total
    return Contents(
        leaves=found.leaves,
        metadata={"world_size": max(world for _, world in groups)},
        bytes_total=found.bytes_total,
        faults=found.faults,
    )


READER = Reader(recognizes=_recognizes, read=_read, restored_by_jax=False)
