"""Flax's msgpack: `*.msgpack`, and the files `checkpoint_<step>` of its older interface.

https://flax.readthedocs.io/en/latest/api_reference/flax.serialization.html
"""

from __future__ import annotations

import re
from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage import unfinished
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import PointerError, UnfinishedError
from jaxdoctor.storage.msgpack import flax_tree
from jaxdoctor.storage.notes import Notes
from jaxdoctor.storage.orbax.places import MAPS

LISTS = frozenset({*range(0x91, 0xA0), 0xDC, 0xDD})
OPENINGS = frozenset(bytes([byte]) for byte in MAPS | LISTS)
HEAD = 1 << 16
DTYPE = re.compile(rb"[\xa4-\xaf](?:b?float|u?int|complex)\d|\xa4bool")
"""How an array's dtype stands in msgpack: a short string, its length in the first byte."""

SUFFIXES = (".msgpack", ".cleanrl_model")
LEGACY = re.compile(r"checkpoint_-?[\d.]+(?:_gda)?")
TEMPORARY = "checkpoint_tmp"
"""What the older interface calls a file while it writes it."""

GDA = "//GDAPlaceholder:"
"""What stands for an array of many processes, whose values lie in another folder."""


def _recognizes(found: Candidate) -> bool:
    if found.head[:1] not in OPENINGS:
        return False
    named = found.suffix in SUFFIXES or LEGACY.fullmatch(found.name) is not None or found.name == TEMPORARY
    return named or DTYPE.search(found.longer_head(HEAD)) is not None


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


READER = Reader(recognizes=_recognizes, read=_read, suffixes=SUFFIXES, unfinished=(unfinished.FLAX,))
