"""MaxText: an Orbax step whose train state is the item `items`, beside Grain's iterator in `iter`.

https://github.com/AI-Hypercomputer/maxtext
"""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.orbax.checkpoints import read_checkpoint
from jaxdoctor.storage.orbax.places import is_checkpoint, is_item


def _recognizes(found: Candidate) -> bool:
    return is_checkpoint(found) and not is_item(found) and is_item(found.child("items"))


def _read(path: Path, budget: Budget) -> Contents:
    return read_checkpoint(path, budget)


READER = Reader(recognizes=_recognizes, read=_read, order=40, folders=True)
