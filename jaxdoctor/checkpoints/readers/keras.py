"""Keras 3's zips: JSON about the model, and its weights as HDF5 inside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.storage.blobs import Region, whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import CorruptError, UnsupportedError, noted
from jaxdoctor.storage.hdf5.files import read_hdf5
from jaxdoctor.storage.json_text import parse
from jaxdoctor.storage.zips import Archive, glimpsed_names, open_archive

WEIGHTS, ABOUT = "model.weights.h5", "metadata.json"
LARGEST_ABOUT = 1 << 20


def _recognizes(found: Candidate) -> bool:
    names = glimpsed_names(found)
    return WEIGHTS in names or {ABOUT, "config.json"} <= set(names)


def _read(path: Path, budget: Budget) -> Contents:
    region = whole_file(path)
    leaves: list[Leaf] = []
    faults: list[Fault] = []
    metadata: dict[str, Any] = {}
    with noted(faults.append, path=str(path)):
        archive = open_archive(region, budget)
        faults += archive.faults
        with noted(faults.append, path=str(path)):
            metadata = _about(archive, budget)
        weights = _weights(archive, budget)
        leaves, found = read_hdf5(weights, budget)
        faults += found
    return Contents(
        leaves=leaves,
        metadata=metadata,
        faults=faults,
    )


def _weights(archive: Archive, budget: Budget) -> Region:
    member = archive.find(WEIGHTS)
    if member is None:
        raise CorruptError(f"the archive holds no {WEIGHTS}")
    blob = archive.blob(member, budget)
    if not isinstance(blob, Region):
        raise UnsupportedError(
            f"{WEIGHTS} is compressed, so it is not read", hint="unpack it, and name the file"
        )
    return blob


def _about(archive: Archive, budget: Budget) -> dict[str, Any]:
    member = archive.find(ABOUT)
    if member is None or member.size > LARGEST_ABOUT:
        return {}
    with archive.blob(member, budget).reading(budget) as read_at:
        content = parse(read_at(0, member.size), budget, ABOUT)
    kept = ("keras_version", "date_saved")
    return (
        {key: str(content[key])[:100] for key in kept if key in content} if isinstance(content, dict) else {}
    )


READER = Reader(recognizes=_recognizes, read=_read, restored_by_jax=False, suffixes=(".keras",))
