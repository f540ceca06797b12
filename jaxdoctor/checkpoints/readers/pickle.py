"""Pickles of pytrees with JAX or NumPy arrays, joblib's too: plain or compressed, never executed."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.errors import UnreadableError
from jaxdoctor.storage.blobs import Inflated, first_unpacked, packing, unpacked, whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import TruncatedError
from jaxdoctor.storage.files import first_bytes
from jaxdoctor.storage.pickles.arrays import Array
from jaxdoctor.storage.pickles.files import (
    SIGHT,
    faults_of,
    looks_pickled,
    may_be_pickled,
    read_stream,
    tree_of,
    wanted_calls,
)
from jaxdoctor.storage.pickles.parts import Made
from jaxdoctor.storage.saved_steps import step_among
from jaxdoctor.storage.torch.marks import LEGACY_MAGIC
from jaxdoctor.storage.torch.storages import Storages
from jaxdoctor.storage.torch.tensors import nested_faults, torch_or_numpy

BZIP2_BLOCK = 1 << 20
"""Nothing comes out of bzip2 before a whole block of up to 900 kB went in."""

SUFFIXES = (".pkl", ".pickle", ".joblib")


def _recognizes(found: Candidate) -> bool:
    head = found.head[:SIGHT]
    if not head or head.startswith(LEGACY_MAGIC):
        return False
    packed = packing(head)
    if packed is not None:
        begin = found.longer_head(BZIP2_BLOCK) if packed[0] == "bzip2" else head
        first = first_unpacked(begin, SIGHT)
        return looks_pickled(first, 1 << 62) if first else found.suffix in SUFFIXES
    return looks_pickled(head, found.size) or (found.suffix in SUFFIXES and may_be_pickled(head))


def _read(path: Path, budget: Budget) -> Contents:
    blob = unpacked(whole_file(path), first_bytes(path, SIGHT))
    stream = read_stream(blob, budget)
    if not stream.pickles and not stream.damage and isinstance(blob, Inflated):
        raise TruncatedError(f"{path} ends before anything of it can be unpacked")
    if not stream.pickles and not stream.damage:
        raise UnreadableError(f"{path} is empty", hint="save again, or restore an older step")

    def recognize(made: Made) -> Array | None:
        return torch_or_numpy(made, Storages(), blob, budget)

    tree = tree_of(stream, recognize)
    root = stream.roots[0] if stream.roots else None
    return Contents(
        leaves=tree.leaves,
        metadata={"pickles": len(stream.pickles), "wanted_calls": wanted_calls(stream)},
        step=step_among(root),
        faults=(*faults_of(stream, path), *nested_faults(stream, blob, budget), *tree.faults),
    )


READER = Reader(recognizes=_recognizes, read=_read, order=80, suffixes=SUFFIXES)
