"""Flax's msgpack: `*.msgpack`, and the files `checkpoint_<step>` of its older interface.

https://flax.readthedocs.io/en/latest/api_reference/flax.serialization.html
"""

from __future__ import annotations

import re
from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import PointerError, UnfinishedError
from jaxdoctor.storage.files import first_bytes, size_of
from jaxdoctor.storage.msgpack import flax_tree
from jaxdoctor.storage.notes import Notes
from jaxdoctor.storage.orbax.places import MAPS
from jaxdoctor.storage.steps import named_step

LISTS = frozenset({*range(0x91, 0xA0), 0xDC, 0xDD})
HEAD = 1 << 16
DTYPE = re.compile(rb"[\xa4-\xaf](?:b?float|u?int|complex)\d|\xa4bool")
"""How an array's dtype stands in msgpack: a short string, its length in the first byte."""

SUFFIXES = (".msgpack", ".cleanrl_model")
LEGACY = re.compile(r"checkpoint_-?[\d.]+(?:_gda)?")
TEMPORARY = "checkpoint_tmp"
"""What the older interface calls a file while it writes it."""

GDA = "//GDAPlaceholder:"
"""What stands for an array of many processes, whose values lie in another folder."""


def _recognizes(path: Path) -> bool:
    if not path.is_file():
        return False
    head = first_bytes(path, HEAD)
    if head[:1] not in {bytes([byte]) for byte in MAPS | LISTS}:
        return False
    named = path.suffix in SUFFIXES or LEGACY.fullmatch(path.name) is not None or path.name == TEMPORARY
    return named or DTYPE.search(head) is not None


def _read(path: Path, budget: Budget) -> Checkpoint:
    before = budget.bytes_read
    size = size_of(path)
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
    step = named_step(path.name.removesuffix(path.suffix) if path.suffix in SUFFIXES else path.name)
    return Checkpoint(
        path=str(path),
        format="flax-msgpack",
        leaves=tuple(leaf for leaf in leaves if leaf is not None),
        step=step,
        named_step=step,
        bytes_total=size,
        bytes_read=budget.bytes_read - before,
        saved_at=path.stat().st_mtime,
        finished=path.name != TEMPORARY,
        faults=notes.faults,
    )


READER = Reader(recognizes=_recognizes, read=_read)
