"""Flax NNX: an Orbax checkpoint of `nnx.state(...)`, in which every array is the `value` of a variable.

The random streams' `count` and the optimizer's `step` are uint32.
https://flax.readthedocs.io/en/latest/guides/checkpointing.html
"""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.notes import Notes
from jaxdoctor.storage.orbax.checkpoints import read_checkpoint
from jaxdoctor.storage.orbax.places import TREE, is_checkpoint
from jaxdoctor.storage.orbax.tree import ARRAY_TYPES, read_tree

LARGEST = 1 << 24
"""Bytes of a tree that are looked through to recognize it; beyond, it is called an Orbax checkpoint."""


def _recognizes(found: Candidate) -> bool:
    return is_checkpoint(found) and any(
        map(_holds_variables, [found.path, *(found.path / name for name in found.folders)])
    )


def _holds_variables(folder: Path) -> bool:
    """Whether every array of the item has the key "value" last."""
    tree = folder / TREE
    if not tree.is_file() or tree.stat().st_size > LARGEST:
        return False
    entries = read_tree(folder, Budget(), Notes()).entries.values()
    last = [entry.keys[-1:] for entry in entries if entry.value_type in ARRAY_TYPES]
    return bool(last) and all(keys == ("value",) for keys in last)


def _read(path: Path, budget: Budget) -> Contents:
    return read_checkpoint(path, budget)


READER = Reader(recognizes=_recognizes, read=_read, order=45, folders=True)
