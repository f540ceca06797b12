"""Folders in which every rank of an FSDP run wrote its shard, `model_world_size_8_rank_3.pt`, as in verl."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import MissingError
from jaxdoctor.storage.listed import listed
from jaxdoctor.storage.torch.files import TorchFile
from jaxdoctor.storage.torch.ranks import RESTORE, read_ranks

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
    kinds = {kind for kind, _ in groups}
    found.faults += [error.fault(path=str(path)) for error in _missing_kinds(kinds)]
    return Contents(
        leaves=found.leaves,
        metadata={"world_size": max(world for _, world in groups)},
        parts=sorted(name for name in Candidate(path).entries if NAME.fullmatch(name)),
        bytes_total=found.bytes_total,
        faults=found.faults,
    )


def _missing_kinds(kinds: set[str]) -> Iterator[MissingError]:
    """Model or optimizer of which no rank left a file, where what is there says that all was saved."""
    if "model" not in kinds:
        yield MissingError(f"it holds {listed(sorted(kinds))} of the ranks, and no model", hint=RESTORE)
    elif "extra_state" in kinds and "optim" not in kinds:
        yield MissingError(
            "it holds model and extra_state of the ranks, and no optim",
            hint="copy it too; resumed without it, training begins with a new optimizer",
            evidence={"missing_kind": "optim"},
        )


READER = Reader(recognizes=_recognizes, read=_read, restored_by_jax=False, folders=True)
