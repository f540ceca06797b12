"""One folder of a Hugging Face Trainer or of TRL, or one model: weights, optimizer, scheduler, state."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.errors import UnreadableError
from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.facts.text import counted
from jaxdoctor.storage import unfinished
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import MissingError, UnfinishedError, noted
from jaxdoctor.storage.json_text import read_json, read_object
from jaxdoctor.storage.model_folder import (
    ACCELERATE,
    ACCELERATE_PART,
    ADAPTER,
    ADAPTER_WEIGHTS,
    ARGUMENTS,
    BINARY_INDEX,
    CONFIG,
    INDEX,
    RANDOM,
    SAFETENSORS,
    SHARD,
    STATE,
    is_weights,
    missing_parts,
    parts_of,
)
from jaxdoctor.storage.safetensors import Tensors, read_sharded, read_tensors
from jaxdoctor.storage.torch.deepspeed import is_deepspeed, read_deepspeed
from jaxdoctor.storage.torch.distributed import is_distributed, read_distributed
from jaxdoctor.storage.torch.files import read_torch_file
from jaxdoctor.storage.trainer_state import (
    arguments_metadata,
    declared_dtype,
    is_model_config,
    state_metadata,
)

SAVED_EMPTY = "save it again from the model that trains, with its state dict; or restore an older step"
SAVE = re.compile(r"checkpoint-\d+")
TORCH_PARTS = {
    "optimizer.pt": "optimizer",
    "optimizer.bin": "optimizer",
    "scheduler.pt": "scheduler",
    "scaler.pt": "scaler",
}


def _recognizes(found: Candidate) -> bool:
    names = found.entries.keys()
    # A folder of such folders is a run, and its saves are what is to be judged.
    if any(SAVE.fullmatch(name) for name in names):
        return False
    if names & {STATE, ARGUMENTS, ADAPTER, *ADAPTER_WEIGHTS}:
        return True
    if any(name.endswith((INDEX, BINARY_INDEX)) or SHARD.fullmatch(name) for name in names):
        return True
    # Scripts of Diffusers keep networks in folders of their own beside these, each a checkpoint.
    if any(map(ACCELERATE.fullmatch, names)) and not found.folders:
        return True
    return CONFIG in names and bool(_weights(names)) and _is_model(found.path)


def _weights(names: Iterable[str]) -> list[str]:
    return sorted(filter(is_weights, names))


def _is_model(path: Path) -> bool:
    try:
        return is_model_config(read_json(path / CONFIG, Budget()))
    except UnreadableError:
        return False


def _read(path: Path, budget: Budget) -> Contents:
    names = set(Candidate(path).entries)
    found = Tensors()
    _read_weights(path, names, budget, found)
    declared = _configured(path, names, budget, found)
    if declared is not None:
        found.leaves = [replace(leaf, declared_dtype=declared) for leaf in found.leaves]
    _read_parts(path, names, budget, found)
    _read_state(path, names, budget, found)
    _insist_whole(path, names, found)
    step = found.metadata.get("global_step")
    return Contents(
        leaves=found.leaves,
        metadata=found.metadata,
        step=step if isinstance(step, int) else None,
        parts=parts_of(names),
        bytes_total=_bytes(path),
        faults=found.faults,
    )


def _bytes(path: Path) -> int:
    with os.scandir(path) as entries:
        return sum(entry.stat().st_size for entry in entries if entry.is_file())


def _read_weights(path: Path, names: set[str], budget: Budget, found: Tensors) -> None:
    """Weights through their index where there is one, and every other file of weights."""
    indexed: set[str] = set()
    for name in sorted(names):
        if name.endswith(INDEX):
            indexed |= read_sharded(path / name, budget, found, read_tensors, prefix="model/")
        elif name.endswith(BINARY_INDEX):
            indexed |= read_sharded(path / name, budget, found, _add_torch, prefix="model/")
    placed = {leaf.path for leaf in found.leaves}
    for name in _weights(names):
        if name not in indexed:
            _read_file(path / name, budget, found, placed)


def _read_file(file: Path, budget: Budget, found: Tensors, placed: set[str]) -> None:
    """One file of weights that no index names; what the indexed shards hold too is compared with it."""
    alone = Tensors()
    add = read_tensors if file.name.endswith(SAFETENSORS) else _add_torch
    add(file, budget, alone, prefix=_prefix(file.name), root=file.parent)
    if not alone.leaves and not alone.faults:
        alone.faults.append(
            MissingError(f"{file.name} holds no tensors", hint=SAVED_EMPTY).fault(path=str(file))
        )
    found.faults += alone.faults
    found.bytes_total += alone.bytes_total
    if placed:
        found.faults += _beside_index(file, alone.leaves, placed)
        alone.leaves = [leaf for leaf in alone.leaves if leaf.path not in placed]
    found.leaves += alone.leaves


def _beside_index(file: Path, leaves: Sequence[Leaf], placed: set[str]) -> Iterator[Fault]:
    twice = [leaf.path for leaf in leaves if leaf.path in placed]
    rest = len(leaves) - len(twice)
    if twice:
        yield Fault(
            kind="tensor-stored-twice",
            message=f"{file.name} holds {counted(len(twice), 'tensor')} that the indexed shards hold too, "
            f"the first is {twice[0][:200]!r}",
            path=str(file),
            evidence={"count": len(twice), "first": twice[0][:200]},
        )
    elif rest and leaves[0].path.startswith("model/"):
        yield Fault(
            kind="tensor-not-indexed",
            message=f"{file.name} holds {counted(rest, 'tensor')} that the index does not name, "
            f"the first is {leaves[0].path[:200]!r}",
            path=str(file),
            evidence={"count": rest, "first": leaves[0].path[:200]},
        )


def _prefix(name: str) -> str:
    return "adapter/" if name.startswith("adapter_") else "model/"


def _add_torch(
    path: Path, budget: Budget, found: Tensors, *, prefix: str = "", root: Path | None = None
) -> None:
    file = read_torch_file(path, budget, prefix=prefix.removesuffix("/"), root=root)
    found.leaves += file.leaves
    found.faults += file.faults


def _configured(path: Path, names: set[str], budget: Budget, found: Tensors) -> str | None:
    """What the config says of the dtype; that of an adapter must be whole as well."""
    declared = None
    if ADAPTER in names:
        with noted(found.faults.append, path=str(path / ADAPTER)):
            read_object(path / ADAPTER, budget)
    if CONFIG in names:
        with noted(found.faults.append, path=str(path / CONFIG)):
            config = read_object(path / CONFIG, budget)
            declared = declared_dtype(config)
            found.metadata["model_type"] = str(config.get("model_type"))[:100]
    return declared


def _read_parts(path: Path, names: set[str], budget: Budget, found: Tensors) -> None:
    for name in sorted(names):
        other = RANDOM.fullmatch(name) or ACCELERATE_PART.fullmatch(name)
        part = TORCH_PARTS.get(name) or (other[1] if other else None)
        if part is not None:
            _add_torch(path / name, budget, found, prefix=part, root=path)
        elif name.startswith(("global_step", "pytorch_model_fsdp", "optimizer_")):
            _read_folder(path / name, budget, found)


def _read_folder(folder: Path, budget: Budget, found: Tensors) -> None:
    """What DeepSpeed or FSDP wrote beside the trainer's own files."""
    known: tuple[tuple[Callable[[Candidate], bool], Callable[[], Any]], ...] = (
        (is_deepspeed, lambda: read_deepspeed(folder, budget, prefix=f"{folder.name}/").group),
        (is_distributed, lambda: read_distributed(folder, budget, prefix=f"{folder.name}/")),
    )
    for recognizes, read in known:
        if recognizes(Candidate(folder)):
            group = read()
            found.leaves += group.leaves
            found.faults += group.faults


def _read_state(path: Path, names: set[str], budget: Budget, found: Tensors) -> None:
    if ARGUMENTS in names:
        file = read_torch_file(path / ARGUMENTS, budget, root=path)
        found.faults += file.faults
        found.metadata |= arguments_metadata(file.root)
    with noted(found.faults.append, path=str(path)):
        if STATE in names:
            found.metadata |= state_metadata(read_object(path / STATE, budget, root=path))
        elif SAVE.fullmatch(path.name):
            raise UnfinishedError(f"{path} has no {STATE}, which is written last")


def _insist_whole(path: Path, names: set[str], found: Tensors) -> None:
    """Notes what is missing; where nothing at all was found, that there are no weights."""
    missing = [error.fault(path=str(path)) for error in missing_parts(names)]
    found.faults += missing
    if not found.leaves and not found.faults:
        found.faults.append(MissingError(f"{path.name} holds no weights").fault(path=str(path)))


READER = Reader(
    recognizes=_recognizes,
    read=_read,
    order=30,
    restored_by_jax=False,
    unfinished=(unfinished.TRANSFORMERS,),
    folders=True,
)
