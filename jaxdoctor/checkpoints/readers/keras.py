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
from jaxdoctor.storage.damage import MissingError, TruncatedError, UnsupportedError, noted
from jaxdoctor.storage.hdf5.files import read_hdf5
from jaxdoctor.storage.json_text import parse
from jaxdoctor.storage.zips import Archive, glimpsed_names, open_archive

WEIGHTS, ABOUT, CONFIG = "model.weights.h5", "metadata.json", "config.json"
LARGEST_ABOUT = 1 << 20
LARGEST_CONFIG = 64 << 20
SAVE_AGAIN = "save the model again, or restore an older step"


def _recognizes(found: Candidate) -> bool:
    names = glimpsed_names(found)
    if WEIGHTS in names or {ABOUT, CONFIG} <= set(names):
        return True
    # Of a file that was cut off, only the name of the first member is left to be seen.
    return names in ([ABOUT], [CONFIG]) and b"keras_version" in found.head


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
        with noted(faults.append, path=str(path)):
            _insist_config(archive, budget)
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
        raise MissingError(f"the archive has no {WEIGHTS}", hint=SAVE_AGAIN)
    if not member.size:
        raise TruncatedError(f"the member {WEIGHTS} is empty")
    blob = archive.blob(member, budget)
    if not isinstance(blob, Region):
        raise UnsupportedError(
            f"{WEIGHTS} is compressed, so it is not read", hint="unpack it, and name the file"
        )
    return blob


def _insist_config(archive: Archive, budget: Budget) -> None:
    """Insists that the layers are described, without which no model can be built.

    Raises:
        DamagedError: the description is missing, or cannot be parsed.
    """
    member = archive.find(CONFIG)
    if member is None:
        raise MissingError(f"the archive has no {CONFIG}, from which the model is built", hint=SAVE_AGAIN)
    if member.size <= LARGEST_CONFIG:
        with archive.blob(member, budget).reading(budget) as read_at:
            parse(read_at(0, member.size), budget, CONFIG)


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
