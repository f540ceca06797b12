"""Zips of Stable-Baselines3: JSON, and files of torch inside."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.storage.blobs import ReadAt, Region, memory_values, whole_file
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import CorruptError, MissingError, TruncatedError, UnsupportedError, noted
from jaxdoctor.storage.elements import Element
from jaxdoctor.storage.json_text import parse
from jaxdoctor.storage.listed import listed
from jaxdoctor.storage.pickles.files import SHARE, Stream, faults_of
from jaxdoctor.storage.pickles.machine import read_pickle
from jaxdoctor.storage.pickles.source import Cursor
from jaxdoctor.storage.torch.files import TorchFile, read_torch
from jaxdoctor.storage.zips import Archive, Member, glimpsed_names, open_archive

DATA, MARK = "data", "_stable_baselines3_version"
LARGEST_DATA = 64 << 20
SERIALIZED = ":serialized:"
COUNTS = ("num_timesteps", "_num_timesteps_at_start", "_n_updates", "_episode_num", "_total_timesteps")
BIGGEST = 1 << 63
GLIMPSE = 512
POLICY, OPTIMIZER = "policy.pth", "optimizer.pth"
WITHOUT_OPTIMIZER = "n_delta"
"""An attribute of ARS, the one algorithm whose policy no optimizer moves:
https://github.com/Stable-Baselines-Team/stable-baselines3-contrib/blob/master/sb3_contrib/ars/ars.py"""

BEGINS = b'{\n    "policy_class"', b'{\n    ":type:"', b'":serialized:"'
"""What the first member holds from its beginning, told also where the rest of the file is gone."""


def _recognizes(found: Candidate) -> bool:
    names = glimpsed_names(found)
    if MARK in names or (DATA in names and any(name.endswith(".pth") for name in names)):
        return True
    return names == [DATA] and any(text in found.head for text in BEGINS)


def _read(path: Path, budget: Budget) -> Contents:
    region = whole_file(path)
    leaves: list[Leaf] = []
    faults: list[Fault] = []
    content: dict[str, Any] = {}
    parts: list[str] = []
    with noted(faults.append, path=str(path)):
        archive = open_archive(region, budget)
        faults += archive.faults
        with noted(faults.append, path=str(path)):
            content = _data(archive, budget)
        leaves += _counts(content)
        faults += _serialized(content, path, budget)
        faults += [error.fault(path=str(path)) for error in _missing(archive, content)]
        parts = sorted(member.name for member in archive.members)
        for member in archive.members:
            if member.name.endswith(".pth"):
                with noted(faults.append, path=str(path)):
                    file = _tensors(archive, member, budget)
                    leaves += file.leaves
                    faults += file.faults
    steps = content.get("num_timesteps")
    return Contents(
        leaves=leaves,
        parts=parts,
        step=steps if type(steps) is int else None,
        faults=faults,
    )


def _missing(archive: Archive, content: dict[str, Any]) -> Iterator[MissingError]:
    """Members without which `load` of the library raises."""
    names = {member.name for member in archive.members}
    lacking = [name for name in (DATA, POLICY) if name not in names]
    optimized = WITHOUT_OPTIMIZER not in content and content
    if POLICY in names and optimized and not any(name.endswith(OPTIMIZER) for name in names):
        lacking.append(f"policy.{OPTIMIZER}")
    if lacking:
        yield MissingError(
            f"the archive has no {listed(lacking)}, without which it cannot be loaded",
            hint="save it again without `exclude`, or restore an older step",
            evidence={"missing": lacking},
        )


def _tensors(archive: Archive, member: Member, budget: Budget) -> TorchFile:
    """What one file of torch in the archive holds, its faults told by the name of the member.

    Raises:
        DamagedError: it is empty, or it cannot be reached.
    """
    name = member.name[:200]
    if not member.size:
        raise TruncatedError(f"the member {name} is empty")
    blob = archive.blob(member, budget)
    if not isinstance(blob, Region):
        raise UnsupportedError(f"{name} is compressed, so it is not read")
    if not blob.bytes(0, min(blob.size, GLIMPSE), budget).strip(b"\0"):
        raise CorruptError(f"the member {name} begins with zeros")
    file = read_torch(blob, budget, prefix=member.name.removesuffix(".pth"))
    whole = f"{blob.path.name} "
    file.faults = [
        replace(fault, message=f"the member {name} {fault.message.removeprefix(whole)}")
        if fault.message.startswith(whole)
        else fault
        for fault in file.faults
    ]
    return file


def _data(archive: Archive, budget: Budget) -> dict[str, Any]:
    """The attributes of the algorithm; an empty dictionary where the member is none."""
    member = archive.find(DATA)
    if member is None or member.size > LARGEST_DATA:
        return {}
    with archive.blob(member, budget).reading(budget) as read_at:
        content = parse(read_at(0, member.size), budget, "the member data")
    return content if isinstance(content, dict) else {}


def _counts(content: dict[str, Any]) -> list[Leaf]:
    found = []
    for name in COUNTS:
        value = content.get(name)
        if type(value) is int and -BIGGEST <= value < BIGGEST:
            values = memory_values(value.to_bytes(8, "little", signed=True), Element("int64"))
            found.append(
                Leaf(
                    path=f"data/{name}", dtype="int64", shape=(), host_scalar=True, value=value, values=values
                )
            )
    return found


def _serialized(content: dict[str, Any], path: Path, budget: Budget) -> list[Fault]:
    """What the pickles in the JSON would call: functions such as schedules are stored by cloudpickle."""
    faults: list[Fault] = []
    for name, entry in content.items():
        text = entry.get(SERIALIZED) if isinstance(entry, dict) else None
        if isinstance(text, str):
            try:
                raw = base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError):
                continue
            stream = Stream(pickles=[read_pickle(Cursor(_from(raw), len(raw)), budget.memory // SHARE)])
            found = faults_of(stream, path, f"the pickle of {name[:100]!r}")
            # Its schedules are functions, and its spaces and policies classes of any environment's making.
            faults += [fault for fault in found if fault.kind not in {"carried-code", "unknown-classes"}]
    return faults


def _from(raw: bytes) -> ReadAt:
    return lambda offset, size: raw[offset : offset + size]


READER = Reader(recognizes=_recognizes, read=_read, restored_by_jax=False)
