"""What Orbax writes beside the arrays: the tree's keys, where PRNG keys are, when the save was done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import CorruptError, HostileError, noted
from jaxdoctor.storage.json_text import read_object
from jaxdoctor.storage.notes import Note
from jaxdoctor.storage.orbax.places import CHECKPOINT, TREE, has, names

ARRAY_TYPES = {"jax.Array", "np.ndarray", "scalar"}
"""Values that have an array in the store. Strings lie in `_strings.json`, empty containers nowhere."""

NUMPY = "np.ndarray"
SCALAR = "scalar"
"""A Python number, which Orbax stores with 64 bits."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One value of the tree."""

    keys: tuple[str, ...]
    value_type: str | None
    in_aggregate: bool
    """Whether the msgpack file holds it, or nothing does (an empty container)."""

    @property
    def name(self) -> str:
        """What the store calls it. Two different trees can give the same."""
        return ".".join(self.keys)


@dataclass
class Tree:
    """The tree as `_METADATA` tells it; empty when there is none."""

    entries: dict[str, Entry] = field(default_factory=dict)
    """By the name in the store."""

    is_ocdbt: bool = False
    """Whether the arrays lie in one store with a manifest, and not in folders of their own."""

    writes_fill: bool = False
    """Whether arrays are written even where they equal the fill value, so that an absent chunk is lost."""


def read_tree(folder: Path, budget: Budget, note: Note) -> Tree:
    """The tree of an item; with faults noted and an empty one when its file is broken."""
    tree = Tree()
    if not has(folder, TREE):
        return tree
    with noted(note, path=str(folder / TREE)):
        meta = read_object(folder / TREE, budget, root=folder)
        tree.writes_fill = meta.get("store_array_data_equal_to_fill_value") is True
        tree.is_ocdbt = meta.get("use_ocdbt") is True
        declared = meta.get("tree_metadata")
        if not isinstance(declared, Mapping):
            raise CorruptError(f"{folder / TREE} holds no tree")
        for value in declared.values():
            with noted(note, path=str(folder / TREE)):
                entry = _entry(value)
                tree.entries.setdefault(entry.name, entry)
    return tree


def _entry(declared: object) -> Entry:
    try:
        assert isinstance(declared, Mapping)
        keys = tuple(str(key["key"]) for key in declared["key_metadata"])
        about = declared["value_metadata"]
        value_type, skipped = about.get("value_type"), about.get("skip_deserialize") is True
    except (AssertionError, AttributeError, KeyError, TypeError) as error:
        raise CorruptError(f"an entry of the tree cannot be read: {str(declared)[:120]}") from error
    entry = Entry(keys=keys, value_type=None if value_type is None else str(value_type), in_aggregate=skipped)
    if entry.name.startswith("/") or ".." in PurePosixPath(entry.name).parts or "\0" in entry.name:
        raise HostileError(f"the tree names an array outside of the checkpoint: {entry.name[:200]!r}")
    return entry


def key_kinds(folder: Path, budget: Budget, note: Note) -> dict[str, str]:
    """Which arrays are typed PRNG keys, and of which kind: {"key": "threefry2x32"}."""
    found = {}
    place = folder / "array_metadatas"
    for name in names(place):
        with noted(note, path=str(place / name)):
            listed = read_object(place / name, budget, root=folder).get("array_metadatas")
            for one in listed if isinstance(listed, list) else []:
                about = one.get("array_metadata") if isinstance(one, dict) else None
                extra = about.get("ext_metadata") if isinstance(about, dict) else None
                if isinstance(about, dict) and isinstance(extra, dict) and extra.get("random_key_impl"):
                    found[str(about.get("param_name"))] = str(extra["random_key_impl"])
    return found


def read_strings(folder: Path, budget: Budget, note: Note) -> dict[str, Any]:
    """The tree's strings."""
    if not has(folder, "_strings.json"):
        return {}
    with noted(note, path=str(folder / "_strings.json")):
        return read_object(folder / "_strings.json", budget, root=folder)
    return {}


def read_checkpoint(folder: Path, budget: Budget, note: Note) -> dict[str, Any] | None:
    """What `_CHECKPOINT_METADATA` says; None without one."""
    if not has(folder, CHECKPOINT):
        return None
    with noted(note, path=str(folder / CHECKPOINT)):
        return read_object(folder / CHECKPOINT, budget, root=folder)
    return None
