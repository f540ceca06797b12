"""Items of an Orbax step that hold the state of a data iterator, one file a process, as Grain writes them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import MissingError, noted
from jaxdoctor.storage.files import read_whole
from jaxdoctor.storage.json_text import parse
from jaxdoctor.storage.listed import are_missing
from jaxdoctor.storage.notes import Note
from jaxdoctor.storage.numbered import NUMBERED, numbered

LARGEST = 16 << 20
"""Bytes of one process's state."""


def is_iterator(names: Sequence[str]) -> bool:
    """Whether files of an item are numbered by process: "process_0-of-2.json"."""
    return any(name.startswith("process_") and NUMBERED.fullmatch(name) for name in names)


def read_iterators(folder: Path, names: Sequence[str], budget: Budget, note: Note) -> Mapping[str, str]:
    """A checksum of each process's state, by file. What is missing or damaged is noted."""
    for processes in numbered(names, first=0):
        if processes.missing:
            count = len(processes.present) + len(processes.missing)
            error = MissingError(
                f"{are_missing(processes.missing)} in {folder.name}, of {count} processes",
                hint="restore an older step: the data iterator of that process was not saved",
                evidence={"missing": list(processes.missing[:20])},
            )
            note(error.fault(path=str(folder)))
    found = {}
    for name in names:
        if NUMBERED.fullmatch(name):
            with noted(note, path=str(folder / name)):
                found[name] = _checksum(folder / name, budget)
    return found


def _checksum(file: Path, budget: Budget) -> str:
    content = read_whole(file, budget, limit=LARGEST, root=file.parent)
    if file.suffix == ".json":
        parse(content, budget, file.name)
    return f"{zlib.crc32(content):08x}-{len(content)}"
