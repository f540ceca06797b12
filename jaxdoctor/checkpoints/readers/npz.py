"""Several arrays in NumPy's zip, compressed or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.storage.blobs import whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import DamagedError, noted
from jaxdoctor.storage.npy import read_record, record_leaves
from jaxdoctor.storage.zips import Archive, Member, checked, glimpsed_names, open_archive


def _recognizes(found: Candidate) -> bool:
    names = glimpsed_names(found)
    return any(name.endswith(".npy") for name in names) and not any(
        name.endswith("data.pkl") for name in names
    )


def _read(path: Path, budget: Budget) -> Contents:
    region = whole_file(path)
    leaves: list[Leaf] = []
    faults: list[Fault] = []
    with noted(faults.append, path=str(path)):
        archive = open_archive(region, budget)
        faults += archive.faults
        for member in archive.members:
            found = _member_leaves(archive, member, budget, faults)
            leaves += found
    return Contents(
        leaves=leaves,
        faults=faults,
    )


def _member_leaves(archive: Archive, member: Member, budget: Budget, faults: list[Fault]) -> list[Leaf]:
    name = member.name.removesuffix(".npy")
    if name == member.name:
        return []
    try:
        blob = archive.blob(member, budget)
        with blob.reading(budget) as read_at:
            record = read_record(read_at, 0, member.name)
            header = read_at(0, record.start)
        leaves, found = record_leaves(record, blob, name, budget)
    except DamagedError as error:
        faults.append(error.fault(leaf=name))
        return [Leaf(path=name, dtype="unknown", shape=(), unsupported=str(error))]
    faults += found
    return [_with_checksum(leaf, member, header, record.end) for leaf in leaves]


def _with_checksum(leaf: Leaf, member: Member, header: bytes, end: int | None) -> Leaf:
    if leaf.values is None or end != member.size:
        return leaf
    return replace(leaf, values=checked(leaf.values, member.crc, header))


READER = Reader(recognizes=_recognizes, read=_read, order=60, restored_by_jax=False, suffixes=(".npz",))
