"""Flax's msgpack: `*.msgpack`, and the files `checkpoint_<step>` of its older interface.

https://flax.readthedocs.io/en/latest/api_reference/flax.serialization.html
"""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage import unfinished
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import PointerError, UnfinishedError
from jaxdoctor.storage.msgpack import flax_tree
from jaxdoctor.storage.msgpack.flax_file import SUFFIXES, TEMPORARY, is_flax_file
from jaxdoctor.storage.notes import Notes

GDA = "//GDAPlaceholder:"
"""What stands for an array of many processes, whose values lie in another folder."""


def _read(path: Path, budget: Budget) -> Contents:
    notes = Notes()
    tree = flax_tree.read_tree(path, budget)
    for fault in tree.faults:
        notes(fault)
    if path.name == TEMPORARY:
        notes(UnfinishedError("its name is one that Flax gives until a save is done").fault(path=str(path)))
    for keys, value in tree.entries.items():
        if isinstance(value, str) and value.startswith(GDA):
            elsewhere = PointerError("its values lie in the folder of a save by many processes")
            notes(elsewhere.fault(path=str(path), leaf="/".join(keys)))
    leaves = (flax_tree.leaf(keys, value, budget) for keys, value in tree.entries.items())
    return Contents(
        leaves=[leaf for leaf in leaves if leaf is not None],
        finished=path.name != TEMPORARY,
        faults=notes.faults,
    )


READER = Reader(recognizes=is_flax_file, read=_read, suffixes=SUFFIXES, unfinished=(unfinished.FLAX,))
