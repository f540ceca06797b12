"""What an Orbax folder is, told from the names in it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from jaxdoctor.storage.files import first_bytes
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
UNFINISHED = ".orbax-checkpoint-tmp"
ARRAYS = (".zarray", "zarr.json")
MAPS = frozenset({*range(0x81, 0x90), 0xDE, 0xDF})
"""First bytes of a msgpack map that is not empty."""

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
    return UNFINISHED in folder.name


def is_item(folder: Path) -> bool:
    """Whether this folder holds one tree of arrays."""
    if has(folder, MANIFEST) or has(folder, TREE) or is_aggregate(folder / AGGREGATE):
        return True
    inside = names(folder)
    if any(map(PROCESS.fullmatch, inside)):
        return True
    return any((folder / name / array).is_file() for name in inside for array in ARRAYS)


def is_aggregate(path: Path) -> bool:
    """Whether that is the msgpack file of older versions, and not TensorFlow's text of the same name."""
    return first_bytes(path, 1)[:1] in {bytes([byte]) for byte in MAPS}


def is_step(folder: Path) -> bool:
    """Whether this folder holds one checkpoint, made of items."""
    if has(folder, CHECKPOINT) or has(folder, MARKER):
        return True
    return is_step_name(folder.name) and _holds_items_only([folder / name for name in names(folder)])


def _holds_items_only(paths: list[Path]) -> bool:
    """Before 0.6 nothing marked a step: it is a folder with a step's name and nothing but items in it."""
    folders = [path for path in paths if path.is_dir()]
    if any(is_step_name(path.name) or has(path, CHECKPOINT) for path in folders):
        return False
    trees = [path for path in folders if is_item(path)]
    return bool(trees) and all(
        path in trees or any(has(path, name) for name in JSON_FILES) for path in folders
    )


def is_checkpoint(path: Path) -> bool:
    """Whether this is one Orbax checkpoint: an item, a step with items, or what an unfinished save left."""
    return path.is_dir() and (is_unfinished(path) or is_item(path) or is_step(path))


def items(folder: Path) -> list[str]:
    """The items of a step, finished or not, arrays or JSON: every subfolder that is one."""
    return [name for name in names(folder) if (folder / name).is_dir() and not (folder / name).is_symlink()]
