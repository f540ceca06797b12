"""MaxText: an Orbax step whose train state is the item `items`, beside Grain's iterator in `iter`.

https://github.com/AI-Hypercomputer/maxtext
"""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.orbax.checkpoints import read_checkpoint
from jaxdoctor.storage.orbax.places import is_checkpoint, is_item


def _recognizes(path: Path) -> bool:
    return is_checkpoint(path) and not is_item(path) and is_item(path / "items")


def _read(path: Path, budget: Budget) -> Checkpoint:
    return read_checkpoint(path, budget, "maxtext")


READER = Reader(recognizes=_recognizes, read=_read, order=40)
