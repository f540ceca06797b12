"""A whole Orbax checkpoint: a step with its items, or an item that stands alone."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf, Role
from jaxdoctor.facts.text import counted
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import MissingError, UnfinishedError, noted
from jaxdoctor.storage.files import Member, all_members
from jaxdoctor.storage.json_text import read_json, read_object
from jaxdoctor.storage.listed import are_missing
from jaxdoctor.storage.notes import Notes, note_odd
from jaxdoctor.storage.orbax.items import Item
from jaxdoctor.storage.orbax.iterators import is_iterator, read_iterators
from jaxdoctor.storage.orbax.places import (
    CHECKPOINT,
    COMMITTED,
    JSON_FILES,
    TREE,
    has,
    is_item,
    is_unfinished,
    items,
    names,
)
from jaxdoctor.storage.orbax.tree import read_checkpoint as read_about
from jaxdoctor.storage.orbax.tree import read_strings

NEUTRAL = frozenset({"default", "items", "pytree", "checkpoint"})
"""Names of an item that say nothing about what is in it."""

RANDOM_KEY = "jax_random_key"
LARGEST_JSON = 1 << 24
NANOSECONDS = 1e9
LAST_TIME = 4e9
"""Seconds since 1970 beyond which no save was made, so that a damaged number is no error of the clock's."""

LEVANTER = "metadata.json"
OLDER = "restore an older step, or copy the item too if the original has it"


def read_checkpoint(path: Path, budget: Budget) -> Contents:
    """The leaves of one checkpoint, with everything that is wrong as faults.

    Raises:
        DamagedError: the folder cannot be listed.
    """
    return _Reading(path, budget).contents()


class _Reading:
    def __init__(self, path: Path, budget: Budget) -> None:
        self.path = path
        self.budget = budget
        self.notes = Notes()
        self.members = all_members(path, budget)
        self.metadata: dict[str, Any] = {}
        self.unfinished = False
        self.about: Mapping[str, Any] = {}
        self.parts: list[str] = []

    def contents(self) -> Contents:
        note_odd(self.members, self.notes)
        about = read_about(self.path, self.budget, self.notes)
        self.about = about or {}
        leaves = self._leaves()
        self._note_absent_items()
        self._read_levanter()
        self._tell(about)
        self._note_unfinished(about)
        return Contents(
            leaves=leaves,
            metadata=self.metadata,
            parts=self.parts,
            bytes_total=sum(member.size for member in self.members),
            saved_at=self._saved_at(about),
            finished=not self.unfinished,
            faults=self.notes.faults,
        )

    def _leaves(self) -> list[Leaf]:
        if is_item(Candidate(self.path)):
            return self._item(self.path, "")
        found = items(self.path)
        trees = [name for name in found if self._tree_of(name) is not None]
        for name in found:
            if is_unfinished(self.path / name):
                self._note(UnfinishedError(f"the item {name} is unfinished"), self.path / name)
            if name not in trees:
                self._read_other(name, self.path / name)
        self.parts += trees
        alone = len(trees) == 1
        return [
            leaf
            for name in trees
            for leaf in self._item_of_step(name, "" if alone and name in NEUTRAL else name)
        ]

    def _tree_of(self, name: str) -> Path | None:
        """The folder with the arrays of an item; None of a JSON item."""
        folder = self.path / name
        return next((place for place in (folder, folder / RANDOM_KEY) if is_item(Candidate(place))), None)

    def _item_of_step(self, name: str, prefix: str) -> list[Leaf]:
        folder = self._tree_of(name)
        assert folder is not None
        leaves = self._item(folder, prefix)
        if folder.name != RANDOM_KEY:
            return leaves
        return [dataclasses.replace(leaf, path=name, role=Role.KEY) for leaf in leaves]

    def _item(self, folder: Path, prefix: str) -> list[Leaf]:
        """The leaves of one folder of arrays; in their paths and in their faults the prefix comes first."""

        def note(fault: Fault) -> None:
            self.notes(
                fault if fault.leaf is None else dataclasses.replace(fault, leaf=_joined(prefix, fault.leaf))
            )

        self.metadata |= _if_any("strings", read_strings(folder, self.budget, note))
        below = "" if folder == self.path else f"{folder.relative_to(self.path).as_posix()}/"
        with noted(note, path=str(folder)):
            members = list(_below(self.members, below))
            leaves = Item(folder, members, self.budget, note, committed=self._committed_at(folder)).leaves()
            return [dataclasses.replace(leaf, path=_joined(prefix, leaf.path)) for leaf in leaves]
        return []

    def _read_other(self, name: str, folder: Path) -> None:
        """An item that is no tree: JSON, metrics, the state of a data iterator."""
        inside = [one for one in names(folder) if one != COMMITTED]
        if is_iterator(inside):
            self.parts.append(name)
            found = read_iterators(folder, inside, self.budget, self.notes)
            states = {f"{name}/{file}": checksum for file, checksum in found.items()}
            self.metadata["iterators"] = self.metadata.get("iterators", {}) | states
        elif not inside and not is_unfinished(folder):
            self.notes(MissingError(f"the item {name} holds nothing", hint=OLDER).fault(path=str(folder)))
        else:
            self._read_json(name, folder)

    def _note_absent_items(self) -> None:
        """Items that the step's own metadata names and that have no folder."""
        handlers = self.about.get("item_handlers")
        if not isinstance(handlers, Mapping):
            return
        lacking = [name for name in map(str, handlers) if not has(self.path, name)]
        if lacking:
            error = MissingError(
                f"{CHECKPOINT} names {counted(len(handlers), 'item')}, of which {are_missing(lacking)}",
                hint=OLDER,
                evidence={"missing": lacking[:20]},
            )
            self.notes(error.fault(path=str(self.path)))

    def _read_levanter(self) -> None:
        """The step in the file that Levanter puts beside the arrays, and whether it will delete the save."""
        if not has(self.path, LEVANTER) or not is_item(Candidate(self.path)):
            return
        with noted(self.notes, path=str(self.path / LEVANTER)):
            about = read_object(self.path / LEVANTER, self.budget, root=self.path, limit=LARGEST_JSON)
            if type(about.get("step")) is int:
                self.metadata["global_step"] = about["step"]
            if type(about.get("is_temporary")) is bool:
                self.metadata["is_temporary"] = about["is_temporary"]

    def _committed_at(self, folder: Path) -> str | None:
        """When the step or the item was committed, for a message; None: nothing says that it was."""
        item = read_about(folder, self.budget, lambda _: None) if folder != self.path else None
        for about in (item or {}, self.about):
            committed = about.get("commit_timestamp_nsecs")
            if type(committed) is int and committed > 0:
                return time.strftime(
                    "%Y-%m-%d %H:%M:%S UTC", time.gmtime(min(committed / NANOSECONDS, LAST_TIME))
                )
        return None

    def _read_json(self, name: str, folder: Path) -> None:
        for file in JSON_FILES:
            if not has(folder, file) or (folder / file).is_dir():
                continue
            with noted(self.notes, path=str(folder / file)):
                self.metadata[name] = read_json(
                    folder / file, self.budget, root=self.path, limit=LARGEST_JSON
                )

    def _tell(self, about: Mapping[str, Any] | None) -> None:
        for key in ("item_handlers", "custom_metadata"):
            self.metadata |= _if_any(key, (about or {}).get(key))

    def _note_unfinished(self, about: Mapping[str, Any] | None) -> None:
        """Layouts with `_CHECKPOINT_METADATA` mark the end of a save there, or in a file of its own."""
        # A key that is absent is no key that is null: other writers leave it out.
        committed = has(self.path, COMMITTED) or (about or {}).get("commit_timestamp_nsecs", 0) is not None
        if is_unfinished(self.path):
            self._note(UnfinishedError("its name is one that Orbax gives until a save is done"), self.path)
        elif about is not None and not committed and "unfinished-save" not in self.notes.stated:
            self._note(
                UnfinishedError(f"{CHECKPOINT} tells when it began, and not that it was done"), self.path
            )
        self.unfinished = self.unfinished or "unfinished-save" in self.notes.stated

    def _note(self, error: UnfinishedError, path: Path) -> None:
        self.notes(error.fault(path=str(path)))

    def _saved_at(self, about: Mapping[str, Any] | None) -> float | None:
        committed = (about or {}).get("commit_timestamp_nsecs")
        if isinstance(committed, int) and not isinstance(committed, bool):
            return committed / NANOSECONDS
        for name in (CHECKPOINT, TREE, "manifest.ocdbt", "checkpoint", "."):
            try:
                return (self.path / name).lstat().st_mtime
            except OSError:
                continue
        return None


def _below(found: Sequence[Member], prefix: str) -> Iterator[Member]:
    for member in found:
        if member.name.startswith(prefix):
            yield dataclasses.replace(member, name=member.name[len(prefix) :])


def _joined(name: str, path: str) -> str:
    return f"{name}/{path}" if name else path


def _if_any(key: str, value: Any) -> dict[str, Any]:
    return {key: value} if value else {}
