"""Folders of Megatron-LM: `iter_0000100/mp_rank_00_001/model_optim_rng.pt`, by tensor and pipeline rank."""

from __future__ import annotations

import re
from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.pickles.parts import Table
from jaxdoctor.storage.torch.files import TorchFile
from jaxdoctor.storage.torch.ranks import read_ranks

RANK = re.compile(r"mp_rank_(\d{1,6})(?:_(\d{1,6}))?")
FILE = "model_optim_rng.pt"


def _recognizes(found: Candidate) -> bool:
    return any(RANK.fullmatch(name) and found.child(f"{name}/{FILE}").is_file for name in found.folders)


def _read(path: Path, budget: Budget) -> Contents:
    found = TorchFile()
    for stage, files in sorted(_stages(path).items()):
        group = read_ranks(files, None, budget, prefix=f"stage_{stage}/")
        found.leaves += group.leaves
        found.faults += group.faults
        found.bytes_total += group.bytes_total
        found.root = group.root if found.root is None else found.root
    step = found.root.get("iteration") if isinstance(found.root, Table) else None
    return Contents(
        leaves=found.leaves,
        step=step if isinstance(step, int) else None,
        bytes_total=found.bytes_total,
        faults=found.faults,
    )


def _stages(path: Path) -> dict[int, dict[int, Path]]:
    """The files of each pipeline stage by tensor rank: stages hold other layers, ranks parts of the same."""
    stages: dict[int, dict[int, Path]] = {}
    for entry in sorted(path.iterdir()):
        match = RANK.fullmatch(entry.name)
        if match is not None and (entry / FILE).is_file():
            stages.setdefault(int(match[2] or 0), {})[int(match[1])] = entry / FILE
    return stages


READER = Reader(recognizes=_recognizes, read=_read, restored_by_jax=False)
