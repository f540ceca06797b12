"""Checkpoints of which every process wrote its own file: read one by one, and compared."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.damage import MissingError
from jaxdoctor.storage.listed import are_missing
from jaxdoctor.storage.torch.files import TorchFile, read_torch_file

MOST_LISTED = 20
RANKED = re.compile(r"(?P<before>rank_)(?P<number>\d+)")
MOST_RANKS = 100_000
RESTORE = "copy the files of these ranks, or restore an older step: its process died while it saved"


def read_ranks(
    files: Mapping[int, Path], world: int | None, budget: Budget, *, prefix: str = ""
) -> TorchFile:
    """The leaves of every rank, each below "rank_R/", and what the ranks do not agree about.

    Args:
        files: by rank.
        world: how many there should be; None when nothing says it.
        budget: counts what is read.
        prefix: stands before "rank_R/".
    """
    group = TorchFile()
    kinds: dict[str, dict[int, Leaf]] = {}
    readable: dict[int, Path] = {}
    for rank, path in sorted(files.items()):
        start = f"{prefix}rank_{rank}/"
        file = read_torch_file(path, budget, prefix=start.removesuffix("/"), root=path.parent)
        group.leaves += file.leaves
        group.faults += file.faults
        group.bytes_total += file.bytes_total
        group.root = file.root if group.root is None else group.root
        if file.leaves:
            readable[rank] = path
        for leaf in file.leaves:
            kinds.setdefault(leaf.path.removeprefix(start), {})[rank] = leaf
    group.faults += _missing(files, world)
    disagreements = [
        fault for path, leaves in kinds.items() for fault in _compared(path, leaves, readable, prefix)
    ]
    group.faults += disagreements[:MOST_LISTED]
    return group


def _missing(files: Mapping[int, Path], world: int | None) -> list[Fault]:
    count = min(world if world is not None else max(files) + 1, MOST_RANKS)
    folder = next(iter(files.values())).parent
    absent = [rank for rank in range(count) if rank not in files]
    if not absent:
        return []
    names = [_renamed(files, rank) for rank in absent]
    error = MissingError(
        f"{are_missing(names)}, of {count} ranks",
        hint=RESTORE,
        evidence={"missing": names[:MOST_LISTED], "ranks": absent[:MOST_LISTED]},
    )
    return [error.fault(path=str(folder))]


def _renamed(files: Mapping[int, Path], rank: int) -> str:
    """What the file of a rank is called, told from that of another: the rank is a number in its path."""
    known, path = next(iter(files.items()))
    name = path.name if RANKED.search(path.name) else f"{path.parent.name}/{path.name}"

    def other(found: re.Match[str]) -> str:
        number = found["number"]
        return f"{found['before']}{rank:0{len(number)}d}" if int(number) == known else found[0]

    return RANKED.sub(other, name, count=1)


def _compared(path: str, leaves: dict[int, Leaf], files: Mapping[int, Path], prefix: str) -> list[Fault]:
    """Shards of one leaf have one dtype, and as many axes; their lengths may differ."""
    first = min(leaves)
    for rank, leaf in leaves.items():
        stated = _difference(leaves[first], leaf)
        if stated is not None:
            message = f"{path} is {stated[0]} in rank {rank} and {stated[1]} in rank {first}"
            evidence = {f"rank_{rank}": stated[0], f"rank_{first}": stated[1]}
            return [_fault(message, f"{prefix}rank_{rank}/{path}", files[rank], evidence)]
    lacking = sorted(set(files) - set(leaves))
    if lacking and not leaves[first].host_scalar:
        message = f"{path} is in rank {first} and not in rank {lacking[0]}"
        return [_fault(message, f"{prefix}rank_{first}/{path}", files[lacking[0]], {"ranks": len(lacking)})]
    return []


def _difference(first: Leaf, other: Leaf) -> tuple[str, str] | None:
    if "unknown" in (first.dtype, other.dtype):
        return None
    if first.dtype != other.dtype:
        return other.dtype, first.dtype
    empty = not math.prod(first.shape) or not math.prod(other.shape)
    if len(first.shape) != len(other.shape) and not empty:
        return f"of shape {list(other.shape)}", f"of shape {list(first.shape)}"
    return None


def _fault(message: str, leaf: str, path: Path, evidence: Mapping[str, object]) -> Fault:
    return Fault(kind="shards-disagree", message=message, path=str(path), leaf=leaf, evidence=evidence)
