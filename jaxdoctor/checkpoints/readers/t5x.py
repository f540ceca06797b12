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
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.facts.text import counted
from jaxdoctor.storage import unfinished
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import (
    DamagedError,
    HostileError,
    MissingError,
    PointerError,
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

LOCAL = {"file", "gfile"}
REMOTE = {"gcs": "gs", "s3": "s3"}
"""Stores that lie elsewhere, with how their addresses begin. A copy of a bucket still says "gcs"."""

ARRAY_METADATA = ".zarray"
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
    elsewhere: dict[str, list[str]] = {}
    for keys, spec in specs.items():
        leaves.append(_array(path, keys, spec, stored, budget, notes, elsewhere))
    _note_elsewhere(path, elsewhere, notes)
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


def _note_elsewhere(path: Path, elsewhere: Mapping[str, list[str]], notes: Notes) -> None:
    """One fault for all arrays of a bucket."""
    for place, leaves in elsewhere.items():
        error = PointerError(
            f"{counted(len(leaves), 'array')} {'lies' if len(leaves) == 1 else 'lie'} in {place}, not here",
            hint=f"copy them here: the folders below {place}",
            evidence={"place": place, "leaves": leaves[:20]},
        )
        notes(error.fault(path=str(path), leaf=leaves[0]))


def _array(
    path: Path,
    keys: Keys,
    spec: Mapping[str, Any],
    stored: Mapping[str, Any],
    budget: Budget,
    notes: Notes,
    elsewhere: dict[str, list[str]],
) -> Leaf:
    name = "/".join(keys)
    try:
        folder = _folder(path, spec)
        if folder not in stored:
            remote = _remote(spec)
            if remote is not None:
                elsewhere.setdefault(remote, []).append(name)
                return Leaf(path=name, dtype="unknown", shape=())
            raise _not_stored(path, folder)
        array = zarr.array(stored[folder], budget, folder)
    except UnreadableError as error:
        fault = error if isinstance(error, DamagedError) else UnsupportedError(str(error))
        notes(fault.fault(path=str(path), leaf=name))
        return Leaf(path=name, dtype="unknown", shape=())
    return Leaf(
        path=name, dtype=array.layout.kind.name, shape=array.layout.shape, values=array.values(budget)
    )


def _not_stored(path: Path, folder: str) -> MissingError:
    inside_it = Candidate(path / folder).entries
    if inside_it and ARRAY_METADATA not in inside_it:
        return MissingError(
            f"{folder[:200]}/{ARRAY_METADATA} is missing while its chunks are there",
            hint="copy the folder again with its hidden files",
        )
    return MissingError(f"the array {folder[:200]!r} is named and not stored")


def _remote(spec: Mapping[str, Any]) -> str | None:
    """The address of the bucket and the folder in it, when the arrays were written to one."""
    scheme = REMOTE.get(str(spec.get("kvstore/driver")))
    if scheme is None:
        return None
    bucket, path = str(spec.get("kvstore/bucket", "")), str(spec.get("kvstore/path", "")).rstrip("/")
    return f"{scheme}://{'/'.join(part for part in (bucket, path.rpartition('/')[0]) if part)[:200]}/"


def _folder(path: Path, spec: Mapping[str, Any]) -> str:
    """The name of the folder that a description means, when it is one of this checkpoint."""
    driver, kvstore = spec.get("driver"), spec.get("kvstore/driver", "file")
    if driver not in {"zarr", "zarr3"} or (kvstore not in LOCAL and kvstore not in REMOTE):
        raise HostileError(
            f"an array is to be fetched with the driver {str(driver)[:40]!r} from {str(kvstore)[:40]!r}"
        )
    name = spec.get("kvstore/path")
    if not isinstance(name, str):
        raise MissingError("an array is described without its place")
    folder = inside(path, name.removesuffix("/"))
    if kvstore in REMOTE and not folder.is_dir():
        # Of a bucket's copy, only the folder of the array itself lies in the checkpoint.
        folder = inside(path, folder.name)
    return folder.relative_to(path).as_posix()


READER = Reader(recognizes=_recognizes, read=_read, order=20, unfinished=(unfinished.T5X,), folders=True)
