"""Checkpoints of torch.distributed: `.metadata` says which range of which `.distcp` file holds each chunk."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxdoctor.facts.leaf import Leaf, Values
from jaxdoctor.facts.text import counted
from jaxdoctor.storage.blobs import Region, whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.damage import (
    CorruptError,
    DamagedError,
    HostileError,
    MissingError,
    TruncatedError,
    UnfinishedError,
    noted,
)
from jaxdoctor.storage.files import inside, size_of
from jaxdoctor.storage.listed import are_missing
from jaxdoctor.storage.pickles.files import faults_of, read_stream, wanted_calls
from jaxdoctor.storage.pickles.parts import Made, Table
from jaxdoctor.storage.placeholders import insist_data
from jaxdoctor.storage.shapes import shape
from jaxdoctor.storage.torch.files import TorchFile, read_torch
from jaxdoctor.storage.torch.tensors import torch_dtype

METADATA = ".metadata"
MARK = b"torch.distributed.checkpoint"
"""What stands in that file, whatever files it names are gone."""

SAMPLED_CHUNKS = 8
LARGEST_SCALAR = 1 << 20
"""Bytes of a pickled value that is no tensor and that is worth looking at."""

MOST_SCALARS = 10_000


@dataclass(frozen=True)
class _Chunk:
    """A range of a file: one tensor, or one value, as `torch.save` writes it."""

    region: Region
    sizes: tuple[int, ...] = ()


def is_distributed(folder: Candidate) -> bool:
    """Whether a folder is such a checkpoint, finished or not."""
    if any(name.endswith(".distcp") for name in folder.entries):
        return True
    return folder.has(METADATA) and MARK in folder.child(METADATA).head


def read_distributed(folder: Path, budget: Budget, *, prefix: str = "") -> TorchFile:
    """The leaves of such a folder. Chunks are opened when their values are asked for."""
    group = TorchFile()
    with noted(group.faults.append, path=str(folder)):
        for path in sorted(folder.glob("*.distcp")):
            group.bytes_total += size_of(path, root=folder)
        if not (folder / METADATA).exists():
            raise UnfinishedError(f"{folder.name} has no {METADATA}, which is written last")
        insist_data(Candidate(folder / METADATA))
        region = whole_file(folder / METADATA, root=folder)
        group.bytes_total += region.size
        stream = read_stream(region, budget)
        group.faults += faults_of(stream, region.path)
        group.metadata["wanted_calls"] = wanted_calls(stream)
        if any(fault.kind == TruncatedError.kind for fault in group.faults):
            return group
        _add_leaves(_fields(stream.roots[0] if stream.roots else None), folder, prefix, budget, group)
    return group


def _fields(node: Any) -> Table:
    """The fields of a dataclass, as its pickle states them."""
    if isinstance(node, Made) and isinstance(node.state, Table):
        return node.state
    raise CorruptError("a record of the metadata has no fields")


def _add_leaves(fields: Table, folder: Path, prefix: str, budget: Budget, group: TorchFile) -> None:
    described, stored = fields.get("state_dict_metadata"), fields.get("storage_data")
    if not isinstance(described, Table) or not isinstance(stored, Table):
        raise CorruptError(f"{METADATA} does not describe a state")
    files = _Files(folder, group)
    chunks = _chunks(stored, files)
    for name, about in described:
        path = f"{prefix}{str(name)[:500]}"
        with noted(group.faults.append, path=str(folder), leaf=path):
            _add_leaf(
                path, about, chunks.get(str(name), []), budget, group, whole=str(name) not in files.lost
            )
    files.note_missing()


class _Files:
    """The files that the metadata names, each opened once, and what lay in those that are not there."""

    def __init__(self, folder: Path, group: TorchFile) -> None:
        self.folder = folder
        self.group = group
        self.regions: dict[str, Region | None] = {}
        self.missing: list[str] = []
        self.cut: dict[str, list[tuple[str, int]]] = {}
        """Of each file that ends too early: the values that lie beyond its end, and where these would end."""

        self.lost: set[str] = set()
        """Names of values of which a chunk lay in a file that is missing or damaged."""

    def region(self, name: str, value: str) -> Region | None:
        """The bytes of a file, of which `value` needs a part."""
        if name not in self.regions:
            self.regions[name] = None
            with noted(self.group.faults.append, path=str(self.folder)):
                path = inside(self.folder, name)
                if os.path.lexists(path):
                    insist_data(Candidate(path))
                    self.regions[name] = whole_file(path, root=self.folder)
                else:
                    self.missing.append(name)
        if self.regions[name] is None:
            self.lost.add(value)
        return self.regions[name]

    def note_missing(self) -> None:
        """One error for all files that are not there, and one for each that ends too early."""
        for name, beyond in self.cut.items():
            region = self.regions[name]
            there = 0 if region is None else region.size
            cut = TruncatedError(
                f"{name} is cut off: it needs {max(end for _, end in beyond):,} bytes "
                f"and {there:,} are there; "
                f"{counted(len(beyond), 'value')} cannot be restored, the first is {beyond[0][0][:200]!r}",
                evidence={"count": len(beyond), "first": beyond[0][0][:200]},
            )
            self.group.faults.append(cut.fault(path=str(self.folder / name)))
        if self.missing:
            error = MissingError(
                f"{METADATA} names {counted(len(self.regions), 'file')}, of which "
                f"{are_missing(self.missing)}: {counted(len(self.lost), 'value')} cannot be restored",
                hint="copy it too, or restore an older step",
                evidence={"missing": self.missing[:20], "values": len(self.lost)},
            )
            self.group.faults.append(error.fault(path=str(self.folder)))


def _chunks(stored: Table, files: _Files) -> dict[str, list[_Chunk]]:
    """Where the chunks of each name lie, as far as they lie inside the folder."""
    found: dict[str, list[_Chunk]] = {}
    for index, place in stored:
        try:
            key, at = _fields(index), _fields(place)
            file = str(at.get("relative_path"))
            region = files.region(file, str(key.get("fqn")))
            if region is None:
                continue
            offset, length = at.get("offset"), at.get("length")
            if type(offset) is not int or type(length) is not int:
                raise CorruptError("a chunk is not placed by numbers")
            if 0 <= offset <= offset + length > region.size:
                files.cut.setdefault(file, []).append((str(key.get("fqn")), offset + length))
                files.lost.add(str(key.get("fqn")))
                continue
            chunk = _Chunk(region.part(offset, length, f"a chunk of {str(key.get('fqn'))[:200]!r}"))
            found.setdefault(str(key.get("fqn")), []).append(chunk)
        except DamagedError as error:
            files.group.faults.append(error.fault(path=str(files.folder)))
    return found


def _add_leaf(
    path: str, about: Any, chunks: list[_Chunk], budget: Budget, group: TorchFile, *, whole: bool
) -> None:
    if not isinstance(about, Made):
        raise CorruptError("it is not described")
    if about.name.endswith(":BytesStorageMetadata"):
        if len(group.leaves) < MOST_SCALARS:
            _add_value(path, chunks, budget, group)
        return
    fields = _fields(about)
    axes = shape(_size(fields.get("size")), "a tensor")
    name = _dtype(fields.get("properties"))
    if name is None:
        group.leaves.append(
            Leaf(path=path, dtype="unknown", shape=axes, unsupported="its dtype is none of ours")
        )
        return
    values = _values(path, name, chunks, budget) if whole else None
    group.leaves.append(Leaf(path=path, dtype=name, shape=axes, values=values))


def _add_value(path: str, chunks: list[_Chunk], budget: Budget, group: TorchFile) -> None:
    """A value that is no tensor: a number, or a pickle of anything."""
    for chunk in chunks[:1]:
        if chunk.region.size <= LARGEST_SCALAR:
            file = read_torch(chunk.region, budget, prefix=path)
            group.leaves += file.leaves
            group.faults += file.faults


def _size(node: Any) -> Any:
    """`torch.Size` pickles as a call with a tuple."""
    if isinstance(node, Made) and isinstance(node.arguments, tuple) and len(node.arguments) == 1:
        return node.arguments[0]
    return node


def _dtype(properties: Any) -> str | None:
    state = properties.state if isinstance(properties, Made) else None
    if isinstance(state, tuple) and state:
        return torch_dtype(state[0])
    return torch_dtype(state.get("dtype")) if isinstance(state, Table) else None


def _values(path: str, dtype: str, chunks: list[_Chunk], budget: Budget) -> Values:
    def stream() -> Iterator[Any]:
        for chunk in chunks:
            yield from _opened(chunk, path, dtype, budget).stream()

    def sample(most: int) -> Any:
        import numpy as np

        step = max(1, math.ceil(len(chunks) / SAMPLED_CHUNKS))
        chosen = chunks[::step]
        parts = [_opened(chunk, path, dtype, budget).sample(most // len(chosen)) for chunk in chosen]
        return np.concatenate(parts) if parts else np.empty(0, "uint8")

    return Values(stream=stream, sample=sample)


def _opened(chunk: _Chunk, path: str, dtype: str, budget: Budget) -> Values:
    """The tensor in a chunk."""
    file = read_torch(chunk.region, budget)
    for fault in file.faults:
        raise (HostileError if fault.kind == HostileError.kind else CorruptError)(fault.message)
    if len(file.leaves) != 1 or file.leaves[0].values is None:
        raise CorruptError(f"the chunk of {path[:200]} is no tensor")
    if file.leaves[0].dtype != dtype:
        raise CorruptError(f"the chunk of {path[:200]} is {file.leaves[0].dtype}, not {dtype}")
    return file.leaves[0].values
