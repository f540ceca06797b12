"""Zips that are no known checkpoint and hold pickles, whatever their members are called."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.errors import UnreadableError
from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.storage.blobs import Blob, whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import noted
from jaxdoctor.storage.pickles.arrays import Array
from jaxdoctor.storage.pickles.files import Stream, faults_of, tree_of
from jaxdoctor.storage.pickles.members import pickled_members, streams_in
from jaxdoctor.storage.pickles.parts import Made
from jaxdoctor.storage.torch.storages import Storages
from jaxdoctor.storage.torch.tensors import nested_faults, torch_or_numpy
from jaxdoctor.storage.zips import LOCAL, open_archive

RECOGNITION = 16 << 20
"""Bytes of memory that a look at the members may take."""


def _recognizes(found: Candidate) -> bool:
    if not found.head.startswith(LOCAL):
        return False
    budget = Budget(memory=RECOGNITION)
    try:
        archive = open_archive(whole_file(found.path), budget)
        return any(True for _ in pickled_members(archive, budget))
    except UnreadableError:
        return False


def _read(path: Path, budget: Budget) -> Contents:
    archive = open_archive(whole_file(path), budget)
    leaves: list[Leaf] = []
    faults: list[Fault] = [*archive.faults]
    for member, blob in pickled_members(archive, budget):
        with noted(faults.append, path=str(path)):
            for name, stream, content in streams_in(member, blob, budget):
                faults += faults_of(stream, path, f"the pickle in {name[:200]}")
                faults += nested_faults(stream, content, budget)
                leaves += _leaves(stream, content, budget, name)
    return Contents(leaves=leaves, faults=faults)


def _leaves(stream: Stream, blob: Blob, budget: Budget, name: str) -> list[Leaf]:
    def recognize(made: Made) -> Array | None:
        return torch_or_numpy(made, Storages(), blob, budget)

    return tree_of(stream, recognize, prefix=name).leaves


READER = Reader(recognizes=_recognizes, read=_read, order=90)
