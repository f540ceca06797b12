"""Pickles of pytrees with JAX or NumPy arrays: plain or gzipped, of any protocol, never executed."""

from __future__ import annotations

import zlib
from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.errors import UnreadableError
from jaxdoctor.storage.blobs import Blob, gzip_blob, whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.files import first_bytes
from jaxdoctor.storage.pickles.arrays import Array
from jaxdoctor.storage.pickles.files import (
    SIGHT,
    faults_of,
    looks_pickled,
    read_stream,
    tree_of,
    wanted_calls,
)
from jaxdoctor.storage.pickles.parts import Made
from jaxdoctor.storage.saved_steps import step_among
from jaxdoctor.storage.torch.marks import LEGACY_MAGIC
from jaxdoctor.storage.torch.storages import Storages
from jaxdoctor.storage.torch.tensors import nested_faults, torch_or_numpy

GZIP = b"\x1f\x8b\x08"


def _recognizes(found: Candidate) -> bool:
    head = found.head[:SIGHT]
    if head.startswith(GZIP):
        return looks_pickled(_first_inflated(head), 1 << 62)
    if head.startswith(LEGACY_MAGIC):
        return False
    return looks_pickled(head, found.size) if head else False


def _first_inflated(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(head, SIGHT)
    except zlib.error:
        return b""


def _blob(path: Path) -> Blob:
    region = whole_file(path)
    return gzip_blob(region) if first_bytes(path, len(GZIP)) == GZIP else region


def _read(path: Path, budget: Budget) -> Contents:
    blob = _blob(path)
    stream = read_stream(blob, budget)
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


READER = Reader(recognizes=_recognizes, read=_read, order=80, suffixes=(".pkl", ".pickle"))
