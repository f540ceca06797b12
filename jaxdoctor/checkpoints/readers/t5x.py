"""T5X: a msgpack file `checkpoint` in which large arrays are descriptions of a zarr folder beside it.

Such a description is a TensorStore spec, which can name any driver and any address. It is never
opened: only its path counts, and only inside the checkpoint.
https://github.com/google-research/t5x/blob/main/t5x/checkpoints.py
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.errors import UnreadableError
from jaxdoctor.facts.checkpoint import Leaf
from jaxdoctor.storage import unfinished
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import (
    DamagedError,
    HostileError,
    MissingError,
    UnfinishedError,
    UnsupportedError,
)
from jaxdoctor.storage.files import all_members, inside
from jaxdoctor.storage.msgpack import flax_tree
from jaxdoctor.storage.notes import Notes, note_odd
from jaxdoctor.storage.orbax.places import AGGREGATE, is_aggregate
from jaxdoctor.storage.spans import Span
from jaxdoctor.storage.zarr import arrays as zarr

MARKS = (b"\xa7version", b"\xa9optimizer")
"""The two keys of a T5X file, each a short string of msgpack."""

LOCAL = {"file", "gfile", "gcs"}
"""Where arrays lay when they were written. A copy of a bucket still says "gcs"."""

Keys = tuple[str, ...]


def _recognizes(found: Candidate) -> bool:
    file = found.child(AGGREGATE)
    return found.has(AGGREGATE) and is_aggregate(file) and all(mark in file.head for mark in MARKS)


def _read(path: Path, budget: Budget) -> Contents:
    notes = Notes()
    found = all_members(path, budget)
    note_odd(found, notes)
    stored = zarr.arrays(
        {
            member.name: Span(size=member.size, path=member.path, root=path)
            for member in found
            if member.kind == "file"
        }
    )
    tree = flax_tree.read_tree(path / AGGREGATE, budget, root=path)
    for fault in tree.faults:
        notes(fault)
    specs, rest = _split(tree.entries)
    leaves = [flax_tree.leaf(keys, value, budget) for keys, value in rest.items()]
    leaves += [_array(path, keys, spec, stored, budget, notes) for keys, spec in specs.items()]
    stopped = re.search(unfinished.T5X, path.name) is not None
    if stopped:
        notes(UnfinishedError("its name is one that T5X gives until a save is done").fault(path=str(path)))
    return Contents(
        leaves=[leaf for leaf in leaves if leaf is not None],
        metadata={"version": tree.entries.get(("version",))},
        bytes_total=sum(member.size for member in found),
        saved_at=(path / AGGREGATE).stat().st_mtime,
        finished=not stopped,
        faults=notes.faults,
    )


def _split(entries: Mapping[Keys, Any]) -> tuple[dict[Keys, dict[str, Any]], dict[Keys, Any]]:
    """The descriptions of arrays, each put together again, and all other entries."""
    stems = {keys[:-1] for keys in entries if keys[-1:] == ("driver",) and keys[-2:-1] != ("kvstore",)}
    specs: dict[Keys, dict[str, Any]] = {stem: {} for stem in stems}
    rest = {}
    for keys, value in entries.items():
        stem = next((keys[:cut] for cut in range(len(keys)) if keys[:cut] in stems), None)
        if stem is None:
            rest[keys] = value
        else:
            specs[stem]["/".join(keys[len(stem) :])] = value
    rest.pop(("version",), None)
    return specs, rest


def _array(
    path: Path, keys: Keys, spec: Mapping[str, Any], stored: Mapping[str, Any], budget: Budget, notes: Notes
) -> Leaf:
    name = "/".join(keys)
    try:
        folder = _folder(path, spec)
        if folder not in stored:
            raise MissingError(f"the array {folder[:200]!r} is named and not stored")
        array = zarr.array(stored[folder], budget, folder)
    except UnreadableError as error:
        fault = error if isinstance(error, DamagedError) else UnsupportedError(str(error))
        notes(fault.fault(path=str(path), leaf=name))
        return Leaf(path=name, dtype="unknown", shape=(), unsupported=str(error))
    return Leaf(
        path=name, dtype=array.layout.kind.name, shape=array.layout.shape, values=array.values(budget)
    )


def _folder(path: Path, spec: Mapping[str, Any]) -> str:
    """The name of the folder that a description means, when it is one of this checkpoint."""
    driver, kvstore = spec.get("driver"), spec.get("kvstore/driver", "file")
    if driver != "zarr" or kvstore not in LOCAL:
        raise HostileError(
            f"an array is to be fetched with the driver {str(driver)[:40]!r} from {str(kvstore)[:40]!r}"
        )
    name = spec.get("kvstore/path")
    if not isinstance(name, str):
        raise MissingError("an array is described without its place")
    return inside(path, name.removesuffix("/")).relative_to(path).as_posix()


READER = Reader(recognizes=_recognizes, read=_read, order=20, unfinished=(unfinished.T5X,))
