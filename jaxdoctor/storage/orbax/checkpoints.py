"""A whole Orbax checkpoint: a step with its items, or an item that stands alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxdoctor.facts.checkpoint import Fault, Leaf, Role
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import UnfinishedError, noted
from jaxdoctor.storage.files import Member, all_members
from jaxdoctor.storage.json_text import read_json
from jaxdoctor.storage.notes import Notes, note_odd
from jaxdoctor.storage.orbax.items import Item
from jaxdoctor.storage.orbax.places import (
    CHECKPOINT,
    COMMITTED,
    JSON_FILES,
    TREE,
    has,
    is_item,
    is_unfinished,
    items,
)
from jaxdoctor.storage.orbax.tree import read_checkpoint as read_about
from jaxdoctor.storage.orbax.tree import read_strings

NEUTRAL = frozenset({"default", "items", "pytree", "checkpoint"})
"""Names of an item that say nothing about what is in it."""

RANDOM_KEY = "jax_random_key"
LARGEST_JSON = 1 << 24
NANOSECONDS = 1e9


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

    def contents(self) -> Contents:
        note_odd(self.members, self.notes)
        about = read_about(self.path, self.budget, self.notes)
        leaves = self._leaves()
        self._tell(about)
        self._note_unfinished(about)
        return Contents(
            leaves=leaves,
            metadata=self.metadata,
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
                self._read_json(name, self.path / name)
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
            leaves = Item(folder, list(_below(self.members, below)), self.budget, note).leaves()
            return [dataclasses.replace(leaf, path=_joined(prefix, leaf.path)) for leaf in leaves]
        return []

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
        committed = has(self.path, COMMITTED) or (about or {}).get("commit_timestamp_nsecs") is not None
        if is_unfinished(self.path):
            self._note(UnfinishedError("its name is one that Orbax gives until a save is done"), self.path)
        elif about is not None and not committed:
            self._note(
                UnfinishedError(f"{CHECKPOINT} tells when it began, and not that it was done"), self.path
            )
        self.unfinished = self.unfinished or "unfinished-save" in self.notes.told

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
