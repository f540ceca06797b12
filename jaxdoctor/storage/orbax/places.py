"""What an Orbax folder is, told from the names in it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from jaxdoctor.storage import unfinished
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.steps import is_step_name
from jaxdoctor.storage.zarr.ocdbt import MANIFEST

TREE = "_METADATA"
CHECKPOINT = "_CHECKPOINT_METADATA"
MARKER = "orbax.checkpoint"
"""An empty file that the second version of Orbax's interface leaves."""

COMMITTED = "commit_success.txt"
AGGREGATE = "checkpoint"
"""Before 0.5.16: a msgpack file with the whole tree, or what of it is not in arrays of its own."""

JSON_FILES = ("metadata", "metrics")
"""The file in the folder of a JSON item, and of the metrics."""

PROCESS = re.compile(r"ocdbt\.process_\d+")
ARRAYS = (".zarray", "zarr.json")
MAPS = frozenset({*range(0x81, 0x90), 0xDE, 0xDF})
"""First bytes of a msgpack map that is not empty."""

OPENINGS = frozenset(bytes([byte]) for byte in MAPS)

MOST_NAMES = 10_000
"""Entries of a folder that recognition looks at."""


def names(folder: Path) -> list[str]:
    """The names in a folder, sorted; none when it is not one that can be listed."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry, _ in zip(entries, range(MOST_NAMES), strict=False))
    except OSError:
        return []


def has(folder: Path, name: str) -> bool:
    """Whether something of that name is in the folder, whatever it is."""
    return os.path.lexists(folder / name)


def is_unfinished(folder: Path) -> bool:
    """Whether the name is one that Orbax gives before a save is done."""
    return re.search(unfinished.ORBAX, folder.name) is not None


def is_item(folder: Candidate) -> bool:
    """Whether this folder holds one tree of arrays."""
    if folder.has(MANIFEST) or folder.has(TREE) or is_aggregate(folder.child(AGGREGATE)):
        return True
    if any(map(PROCESS.fullmatch, folder.entries)):
        return True
    return any(folder.child(f"{name}/{array}").is_file for name in folder.folders for array in ARRAYS)


def is_aggregate(file: Candidate) -> bool:
    """Whether that is the msgpack file of older versions, and not TensorFlow's text of the same name."""
    return file.head[:1] in OPENINGS


def is_step(folder: Candidate) -> bool:
    """Whether this folder holds one checkpoint, made of items."""
    if folder.has(CHECKPOINT) or folder.has(MARKER):
        return True
    return is_step_name(folder.name) and _holds_items_only([folder.child(name) for name in folder.folders])


def _holds_items_only(folders: list[Candidate]) -> bool:
    """Before 0.6 nothing marked a step: it is a folder with a step's name and nothing but items in it."""
    if any(is_step_name(folder.name) or folder.has(CHECKPOINT) for folder in folders):
        return False
    trees = [folder for folder in folders if is_item(folder)]
    return bool(trees) and all(
        folder in trees or any(folder.has(name) for name in JSON_FILES) for folder in folders
    )


def is_checkpoint(found: Candidate) -> bool:
    """Whether this is one Orbax checkpoint: an item, a step with items, or what an unfinished save left."""
    return found.is_folder and (is_unfinished(found.path) or is_item(found) or is_step(found))


def items(folder: Path) -> list[str]:
    """The items of a step, finished or not, arrays or JSON: every subfolder that is one."""
    return [name for name in names(folder) if (folder / name).is_dir() and not (folder / name).is_symlink()]
