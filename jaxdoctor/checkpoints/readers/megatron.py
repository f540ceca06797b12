"""Folders of Megatron-LM: `iter_0000100/mp_rank_00_001/model_optim_rng.pt`, by tensor and pipeline rank."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import MissingError
from jaxdoctor.storage.listed import are_missing
from jaxdoctor.storage.pickles.parts import Made, Table
from jaxdoctor.storage.torch.files import TorchFile
from jaxdoctor.storage.torch.ranks import MOST_RANKS, RESTORE, read_ranks

RANK = re.compile(r"mp_rank_(\d{1,6})(?:_(\d{1,6}))?")
FILE, OPTIMIZER = "model_optim_rng.pt", "distrib_optim.pt"


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
    stages = _stages(path)
    for error in (*_missing_ranks(found.root, stages), *_missing_optimizers(found.root, stages)):
        found.faults.append(error.fault(path=str(path)))
    step = found.root.get("iteration") if isinstance(found.root, Table) else None
    return Contents(
        leaves=found.leaves,
        step=step if isinstance(step, int) else None,
        parts=sorted(name for name in Candidate(path).folders if RANK.fullmatch(name)),
        bytes_total=found.bytes_total,
        faults=found.faults,
    )


def _missing_ranks(root: Any, stages: Mapping[int, Mapping[int, Path]]) -> Iterator[MissingError]:
    """Ranks that the saved arguments name and that are not there, beyond those within the highest number."""
    state = _arguments(root)
    if state is None:
        return
    tensor, pipeline = state.get("tensor_model_parallel_size"), state.get("pipeline_model_parallel_size")
    if not isinstance(tensor, int) or not 0 < tensor < MOST_RANKS:
        return
    if not isinstance(pipeline, int) or not 0 < pipeline < MOST_RANKS:
        pipeline = 1
    lacking = [
        f"mp_rank_{rank:02d}" + (f"_{stage:03d}" if pipeline > 1 else "")
        for stage in range(pipeline)
        for rank in range(tensor)
        if rank not in stages.get(stage, {}) and rank > max(stages.get(stage, {-1: None}))
    ]
    if lacking:
        yield MissingError(
            f"{are_missing(lacking)}, of {tensor} tensor and {pipeline} pipeline ranks", hint=RESTORE
        )


def _missing_optimizers(root: Any, stages: Mapping[int, Mapping[int, Path]]) -> Iterator[MissingError]:
    """Ranks without the distributed optimizer's file, where another has it or the arguments ask for it."""
    folders = [file.parent for stage in sorted(stages) for _, file in sorted(stages[stage].items())]
    lacking = [folder.name for folder in folders if not (folder / OPTIMIZER).is_file()]
    state = _arguments(root)
    asked = state is not None and state.get("use_distributed_optimizer") is True
    left_out = state is not None and state.get("no_save_optim") is True
    if lacking and (len(lacking) < len(folders) or (asked and not left_out)):
        yield MissingError(
            f"{are_missing([f'{name}/{OPTIMIZER}' for name in lacking])}, of {len(folders)} ranks",
            hint=RESTORE,
            evidence={"missing": lacking[:20]},
        )


def _arguments(root: Any) -> Table | None:
    """The arguments of the training, as the first rank saved them."""
    arguments = root.get("args") if isinstance(root, Table) else None
    state = arguments.state if isinstance(arguments, Made) else None
    return state if isinstance(state, Table) else None


def _stages(path: Path) -> dict[int, dict[int, Path]]:
    """The files of each pipeline stage by tensor rank: stages hold other layers, ranks parts of the same."""
    stages: dict[int, dict[int, Path]] = {}
    for entry in sorted(path.iterdir()):
        match = RANK.fullmatch(entry.name)
        if match is not None and (entry / FILE).is_file():
            stages.setdefault(int(match[2] or 0), {})[int(match[1])] = entry / FILE
    return stages


READER = Reader(recognizes=_recognizes, read=_read, restored_by_jax=False, folders=True)
