"""Folders of DeepSpeed, ZeRO's shards included, and a `latest` that names nothing."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.torch.deepspeed import (
    LATEST,
    NAME,
    dangling,
    dangling_tag,
    is_deepspeed,
    read_deepspeed,
)

MARK = "zero_to_fp32.py"
"""What DeepSpeed puts beside `latest`, so that no other program's file of that name is meant."""


def _recognizes(found: Candidate) -> bool:
    return is_deepspeed(found) or _lost(found)


def _lost(found: Candidate) -> bool:
    """Whether all that is left is the name of the newest save."""
    if MARK not in found.entries or dangling_tag(found.path) is None:
        return False
    return not any(is_deepspeed(found.child(name)) for name in found.folders)


def _read(path: Path, budget: Budget) -> Contents:
    if not is_deepspeed(Candidate(path)):
        fault = dangling(dangling_tag(path) or "").fault(path=str(path / LATEST))
        return Contents(faults=(fault,), bytes_total=0)
    save = read_deepspeed(path, budget)
    return Contents(
        leaves=save.group.leaves,
        parts=sorted(name for name in Candidate(path).entries if NAME.fullmatch(name)),
        step=save.step,
        bytes_total=save.group.bytes_total,
        faults=save.group.faults,
    )


READER = Reader(recognizes=_recognizes, read=_read, restored_by_jax=False, folders=True)
