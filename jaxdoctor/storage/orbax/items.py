"""One item of an Orbax checkpoint: a tree of arrays, in whichever of four ways they are stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from jaxdoctor.errors import UnreadableError
from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf, Role
from jaxdoctor.facts.text import agreed, counted
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.damage import (
    DamagedError,
    HostileError,
    MissingError,
    TruncatedError,
    UnfinishedError,
    UnsupportedError,
    noted,
)
from jaxdoctor.storage.files import Member, size_of
from jaxdoctor.storage.msgpack import flax_tree
from jaxdoctor.storage.notes import Note
from jaxdoctor.storage.orbax.places import AGGREGATE, PROCESS, has, is_aggregate, names
from jaxdoctor.storage.orbax.tree import ARRAY_TYPES, NUMPY, SCALAR, Tree, key_kinds, read_tree
from jaxdoctor.storage.spans import Span
from jaxdoctor.storage.zarr import arrays as zarr
from jaxdoctor.storage.zarr import ocdbt

PLACEHOLDER = "PLACEHOLDER://"
"""What stands in the msgpack file for an array with files of its own."""

LEAF = 2000
"""Bytes of memory for each leaf that is described."""


class Causes:
    """Losses sorted by what they come from: one fault for each, however many leaves it takes along."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[DamagedError, list[str]]] = {}

    def add(self, cause: str, error: DamagedError, leaf: str) -> None:
        """One leaf that is lost; the first error of a cause stands for all."""
        self.found.setdefault(cause, (error, []))[1].append(leaf)

    def faults(self, folder: Path) -> Iterator[Fault]:
        """One for each cause."""
        for error, leaves in self.found.values():
            fault = error.fault(path=str(folder), leaf=leaves[0])
            if len(leaves) == 1:
                yield fault
            else:
                message = f"{error}; the same holds of {counted(len(leaves) - 1, 'other array')}"
                yield replace(fault, message=message, evidence={"leaves": leaves[:20], "count": len(leaves)})


class Item:
    """Reads the leaves of one folder of arrays."""

    def __init__(
        self,
        folder: Path,
        members: Sequence[Member],
        budget: Budget,
        note: Note,
        *,
        committed: str | None = None,
    ) -> None:
        self.folder = folder
        self.committed = committed
        """When it was committed, as text; None: nothing says that it was."""

        self.lost = Causes()
        self.members = members
        """Its files, as a walk through the whole checkpoint found them."""

        self.budget = budget
        self.note = note
        self.tree = Tree()
        self.sizes: dict[Path, int] = {}
        self.no_manifest = False
        self.unread = False
        """Whether the list of what is stored could not be read, so that what lacks cannot be told."""

    def leaves(self) -> list[Leaf]:
        """Every leaf, in the order of their names."""
        self.tree = read_tree(self.folder, self.budget, self.note)
        kinds = key_kinds(self.folder, self.budget, self.note)
        stored = zarr.arrays(self._store())
        self.budget.allow(len(stored) * LEAF, f"the list of arrays in {self.folder.name}")
        found = [self._leaf(name, keys, kinds) for name, keys in sorted(stored.items())]
        aggregated = list(self._aggregated(set(stored)))
        if not self.no_manifest and not self.unread:
            self._note_missing(stored, {leaf.path for leaf in aggregated})
        for fault in self.lost.faults(self.folder):
            self.note(fault)
        return found + aggregated

    def _store(self) -> Mapping[str, Span]:
        """Every key of the item with its bytes' place."""
        merged = has(self.folder, ocdbt.MANIFEST)
        if merged:
            try:
                return ocdbt.entries(self.folder, self.budget)
            except DamagedError as error:
                self.unread = True
                self.note(error.fault(path=str(self.folder / ocdbt.MANIFEST)))
        broken = self.unread
        processes = [name for name in names(self.folder) if PROCESS.fullmatch(name)]
        if not merged and (processes or self.tree.is_ocdbt):
            self._note_no_manifest()
        if not processes:
            return self._files()
        found: dict[str, Span] = {}
        self.unread = False
        for name in processes:
            try:
                found |= ocdbt.entries(self.folder / name, self.budget)
            except DamagedError as error:
                # Of a store whose merged list is broken as well, that is the one finding.
                if not broken:
                    self.note(error.fault(path=str(self.folder / name)))
                self.unread = True
        return found

    def _note_no_manifest(self) -> None:
        """A step that was committed without it cannot be restored; one that was not is merely unfinished."""
        self.no_manifest = True
        if self.committed is None:
            error: DamagedError = UnfinishedError(
                f"{self.folder.name} was not merged: it has no {ocdbt.MANIFEST}"
            )
        else:
            error = MissingError(
                f"{ocdbt.MANIFEST} is missing from {self.folder.name}, which was committed at "
                f"{self.committed}: it cannot be restored",
                hint="restore an older step; a save must merge the parts of all processes, and then commit",
            )
        self.note(error.fault(path=str(self.folder)))

    def _files(self) -> dict[str, Span]:
        """One folder an array, one file a chunk. A key's "/" makes a folder in the folder."""
        return {
            member.name: Span(size=member.size, path=member.path, root=self.folder)
            for member in self.members
            if member.kind == "file" and "/" in member.name
        }

    def _leaf(self, name: str, members: Mapping[str, Span], kinds: Mapping[str, str]) -> Leaf:
        entry = self.tree.entries.get(name)
        path = "/".join(entry.keys if entry else name.split("."))
        try:
            array = zarr.array(members, self.budget, name)
        except UnreadableError as error:
            fault = error if isinstance(error, DamagedError) else UnsupportedError(str(error))
            self.note(fault.fault(path=str(self.folder), leaf=path))
            return Leaf(path=path, dtype="unknown", shape=(), unsupported=str(error))
        whole = self._is_present(array, path)
        return Leaf(
            path=path,
            dtype=array.layout.kind.name,
            shape=array.layout.shape,
            role=Role.KEY if name in kinds else Role.OTHER,
            host_scalar=entry is not None and entry.value_type == SCALAR,
            host_array=entry is not None and entry.value_type == NUMPY,
            values=array.values(self.budget) if whole else None,
        )

    def _is_present(self, array: zarr.Array, leaf: str) -> bool:
        """Whether no chunk is lost and no file is cut, which is known before any value is read."""
        if array.absent and self.tree.writes_fill:
            total = array.absent + len(array.chunks)
            self.lost.add("chunks", MissingError(_chunks_missing(array.absent, total)), leaf)
            return False
        for span in array.chunks.values():
            if span.path is None:
                continue
            try:
                self._insist_long_enough(span.path, span)
            except DamagedError as error:
                self.lost.add(str(span.path), error, leaf)
                return False
        return True

    def _insist_long_enough(self, path: Path, span: Span) -> None:
        if path not in self.sizes:
            self.sizes[path] = size_of(path, root=span.root)
        end = self.sizes[path]
        if span.offset + span.size > end:
            place = path.relative_to(self.folder) if path.is_relative_to(self.folder) else path
            raise TruncatedError(f"{place} ends at byte {end}, and a chunk needs {span.offset + span.size}")

    def _aggregated(self, arrays: set[str]) -> Iterator[Leaf]:
        """What the msgpack file of versions before 0.5.16 holds itself."""
        path = self.folder / AGGREGATE
        if not is_aggregate(Candidate(path)):
            return
        with noted(self.note, path=str(path)):
            tree = flax_tree.read_tree(path, self.budget, root=self.folder)
            for fault in tree.faults:
                self.note(fault)
            for keys, value in tree.entries.items():
                if isinstance(value, str) and value.startswith(PLACEHOLDER):
                    self._note_placeholder(keys, value.removeprefix(PLACEHOLDER), arrays)
                elif (leaf := flax_tree.leaf(keys, value, self.budget)) is not None:
                    yield leaf

    def _note_placeholder(self, keys: tuple[str, ...], name: str, arrays: set[str]) -> None:
        if name in arrays:
            return
        error: DamagedError = MissingError(f"the array {name[:200]!r} is named and not stored")
        if name.startswith("/") or ".." in name.split("/"):
            error = HostileError(f"the tree names an array outside of the checkpoint: {name[:200]!r}")
        self.note(error.fault(path=str(self.folder), leaf="/".join(keys)))

    def _note_missing(self, stored: Mapping[str, object], aggregated: set[str]) -> None:
        for name, entry in self.tree.entries.items():
            path = "/".join(entry.keys)
            if entry.in_aggregate or name in stored or path in aggregated:
                continue
            if entry.value_type in ARRAY_TYPES:
                self.lost.add(*self._absence(name), path)

    def _absence(self, name: str) -> tuple[str, MissingError]:
        """Why an array cannot be found: its metadata is gone from beside its chunks, or all of it is."""
        if any(member.name.startswith(f"{name}/") for member in self.members):
            return "hidden", MissingError(
                f"{name}/.zarray is missing, and chunks of the array are there: hidden files were left out",
                hint="copy the whole folder again, with the files whose names begin with a dot",
            )
        return "tree", MissingError("the tree names it, and no array is stored for it")


def _chunks_missing(absent: int, total: int) -> str:
    return f"{absent:,} of its {counted(total, 'chunk')} {agreed(absent)} missing"
