"""What `torch.save` writes, in both of its formats, read without torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.storage.blobs import Blob, Region
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.damage import CorruptError, DamagedError, HostileError, TruncatedError, noted
from jaxdoctor.storage.files import size_of
from jaxdoctor.storage.pickles.arrays import Array
from jaxdoctor.storage.pickles.files import Stream, faults_of, read_stream, tree_of, wanted_calls
from jaxdoctor.storage.pickles.parts import Made
from jaxdoctor.storage.placeholders import insist_data
from jaxdoctor.storage.torch.marks import LEGACY_MAGIC, ROOT_ENDING
from jaxdoctor.storage.torch.storages import Storages, read_legacy
from jaxdoctor.storage.torch.tensors import nested_faults, torch_or_numpy
from jaxdoctor.storage.zips import LOCAL, STORED, Archive, Member, open_archive

LONGEST_WORD = 64
PICKLED = (".pkl", ".pickle", ".pt", ".pth", ".bin", ".joblib")
"""How members are called that hold pickles; a storage is called by a number."""


@dataclass
class TorchFile:
    """What one file holds."""

    leaves: list[Leaf] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    root: Any = None
    """What stands in place of the object that was saved."""

    bytes_total: int = 0


def read_torch_file(path: Path, budget: Budget, *, prefix: str = "", root: Path | None = None) -> TorchFile:
    """A file of either format. What is wrong with it is among its faults."""
    try:
        region = Region(path=path, start=0, size=size_of(path, root=root), root=root)
        insist_data(Candidate(path))
    except DamagedError as error:
        return TorchFile(faults=[error.fault(path=str(path))])
    return read_torch(region, budget, prefix=prefix)


def read_torch(region: Region, budget: Budget, *, prefix: str = "") -> TorchFile:
    """The same for a part of a file, such as a member of an archive."""
    file = TorchFile(bytes_total=region.size)
    with noted(file.faults.append, path=str(region.path)):
        with region.reading(budget) as read_at:
            head = read_at(0, len(LEGACY_MAGIC))
        if head.startswith(LOCAL):
            _read_zip(region, budget, prefix, file)
        elif head == LEGACY_MAGIC:
            _read_legacy(region, budget, prefix, file)
        else:
            _read_plain(region, budget, prefix, file)
    return file


def _read_zip(region: Region, budget: Budget, prefix: str, file: TorchFile) -> None:
    archive = open_archive(region, budget)
    file.faults += archive.faults
    found = next((member for member in archive.members if member.name.endswith(ROOT_ENDING)), None)
    if found is None:
        raise CorruptError("the archive holds no data.pkl")
    if not found.size:
        raise TruncatedError("data.pkl of the archive is empty")
    stem = found.name.removesuffix(ROOT_ENDING)
    if found.method != STORED:
        file.faults.append(
            HostileError("data.pkl is compressed, so torch did not write it").fault(path=str(region.path))
        )
    if archive.find(f"{stem}/constants.pkl") is not None:
        file.metadata["torchscript"] = True
    storages = _stored(archive, stem, budget)
    blob = archive.blob(found, budget)
    stream = read_stream(blob, budget)
    _add(stream, storages, blob, budget, prefix, file)
    if not stream.roots and not file.faults:
        raise CorruptError("data.pkl of the archive is no pickle")
    _look_at_others(archive, found, budget, file)


def _look_at_others(archive: Archive, root: Member, budget: Budget, file: TorchFile) -> None:
    """Pickles beside the one of the state: a script's constants, or what only another loader opens."""
    from jaxdoctor.storage.pickles.members import member_faults  # noqa: PLC0415 (it reads torch's files itself)

    for member in archive.members:
        if member is not root and member.name.endswith(PICKLED):
            with noted(file.faults.append, path=str(archive.region.path)):
                file.faults += member_faults(member, archive.blob(member, budget), budget)


def _stored(archive: Archive, stem: str, budget: Budget) -> Storages:
    storages = Storages()
    order = archive.find(f"{stem}/byteorder")
    if order is not None and order.size < LONGEST_WORD:
        with archive.blob(order, budget).reading(budget) as read_at:
            storages.big_endian = read_at(0, order.size).strip() == b"big"
    start = f"{stem}/data/"
    for member in archive.members:
        if not member.name.startswith(start):
            continue
        key = member.name.removeprefix(start)
        if member.method != STORED:
            storages.problems[key] = f"the storage {key[:40]!r} is compressed, so torch did not write it"
            continue
        try:
            blob = archive.blob(member, budget)
        except DamagedError as error:
            storages.problems[key] = str(error)
            continue
        assert isinstance(blob, Region)
        storages.regions[key] = blob
    return storages


def _read_plain(region: Region, budget: Budget, prefix: str, file: TorchFile) -> None:
    _add(read_stream(region, budget), Storages(), region, budget, prefix, file)


def _add(
    stream: Stream, storages: Storages, blob: Blob, budget: Budget, prefix: str, file: TorchFile
) -> None:
    """Adds the leaves of a pickle, and what it wanted to call."""

    def recognize(made: Made) -> Array | None:
        return torch_or_numpy(made, storages, blob, budget)

    tree = tree_of(stream, recognize, prefix=prefix)
    file.leaves += tree.leaves
    file.faults += [*faults_of(stream, blob.path), *nested_faults(stream, blob, budget), *tree.faults]
    file.metadata["wanted_calls"] = wanted_calls(stream)
    file.root = stream.roots[0] if stream.roots else None


def _read_legacy(region: Region, budget: Budget, prefix: str, file: TorchFile) -> None:
    legacy = read_legacy(region, budget)
    if legacy.problem is not None:
        file.faults.append(legacy.problem.fault(path=str(region.path)))
    pickles = legacy.stream.pickles
    file.faults += faults_of(Stream(pickles=[*pickles[:3], *pickles[4:]]), region.path)
    objects = Stream(pickles=pickles[3:4], damage=legacy.stream.damage)
    _add(objects, legacy.storages, region, budget, prefix, file)
