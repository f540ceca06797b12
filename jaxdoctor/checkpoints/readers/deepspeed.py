"""Folders of DeepSpeed, ZeRO's shards included, and a `latest` that names nothing."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import MissingError
from jaxdoctor.storage.torch.deepspeed import LATEST, dangling_tag, is_deepspeed, read_deepspeed

MARK = "zero_to_fp32.py"
"""What DeepSpeed puts beside `latest`, so that no other program's file of that name is meant."""


def _recognizes(path: Path) -> bool:
    return path.is_dir() and (is_deepspeed(path) or _lost(path))


def _lost(path: Path) -> bool:
    """Whether all that is left is the name of the newest save."""
    if not (path / MARK).is_file() or dangling_tag(path) is None:
        return False
    return not any(is_deepspeed(folder) for folder in path.iterdir() if folder.is_dir())


def _read(path: Path, budget: Budget) -> Checkpoint:
    if not is_deepspeed(path):
        tag = dangling_tag(path)
        fault = MissingError(f"{LATEST} names {tag}, which is not there").fault(path=str(path / LATEST))
        return Checkpoint(path=str(path), format="deepspeed", leaves=(), faults=(fault,))
    before = budget.bytes_read
    save = read_deepspeed(path, budget)
    return Checkpoint(
        path=str(path),
        format="deepspeed",
        leaves=tuple(save.group.leaves),
        step=save.step,
        bytes_total=save.group.bytes_total,
        bytes_read=budget.bytes_read - before,
        faults=tuple(save.group.faults),
    )


READER = Reader(recognizes=_recognizes, read=_read)
