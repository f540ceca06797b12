"""One folder of a Hugging Face Trainer or of TRL, or one model: weights, optimizer, scheduler, state."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.errors import UnreadableError
from jaxdoctor.facts.checkpoint import Leaf
from jaxdoctor.storage import unfinished
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import MissingError, UnfinishedError, noted
from jaxdoctor.storage.json_text import read_json, read_object
from jaxdoctor.storage.safetensors import Tensors, read_index, read_sharded, read_tensors
from jaxdoctor.storage.torch.deepspeed import is_deepspeed, read_deepspeed
from jaxdoctor.storage.torch.distributed import is_distributed, read_distributed
from jaxdoctor.storage.torch.files import read_torch_file
from jaxdoctor.storage.trainer_state import (
    arguments_metadata,
    declared_dtype,
    is_model_config,
    state_metadata,
)

STATE, ARGUMENTS, CONFIG, ADAPTER = (
    "trainer_state.json",
    "training_args.bin",
    "config.json",
    "adapter_config.json",
)
SAFETENSORS, BINARY = (
    ".safetensors",
    re.compile(r"(?:pytorch_model|adapter_model|diffusion_pytorch_model)\S*\.bin"),
)
INDEX, BINARY_INDEX = ".safetensors.index.json", ".bin.index.json"
SAVE = re.compile(r"checkpoint-\d+")
TORCH_PARTS = {
    "optimizer.pt": "optimizer",
    "optimizer.bin": "optimizer",
    "scheduler.pt": "scheduler",
    "scaler.pt": "scaler",
}
RANDOM = re.compile(r"(rng_state(?:_\d+)?)\.pth")


def _recognizes(found: Candidate) -> bool:
    names = found.entries.keys()
    # A folder of such folders is a run, and its saves are what is to be judged.
    if any(SAVE.fullmatch(name) for name in names):
        return False
    if names & {STATE, ARGUMENTS, ADAPTER} or any(name.endswith(INDEX) for name in names):
        return True
    return CONFIG in names and bool(_weights(names)) and _is_model(found.path)


def _weights(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.endswith(SAFETENSORS) or BINARY.fullmatch(name))


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
    step = found.metadata.get("global_step")
    return Contents(
        leaves=found.leaves,
        metadata=found.metadata,
        step=step if isinstance(step, int) else None,
        bytes_total=_bytes(path),
        faults=found.faults,
    )


def _bytes(path: Path) -> int:
    with os.scandir(path) as entries:
        return sum(entry.stat().st_size for entry in entries if entry.is_file())


def _read_weights(path: Path, names: set[str], budget: Budget, found: Tensors) -> None:
    """Weights through their index where there is one, and every other file of weights."""
    indexes = sorted(name for name in names if name.endswith((INDEX, BINARY_INDEX)))
    for name in indexes:
        if name.endswith(INDEX):
            read_index(path / name, budget, found, prefix="model/")
        else:
            read_sharded(path / name, budget, found, _add_torch, prefix="model/")
    shard = re.compile(r".*-\d{5}-of-\d{5}\.\w+")
    for name in _weights(names):
        if not (indexes and shard.fullmatch(name)):
            add = read_tensors if name.endswith(SAFETENSORS) else _add_torch
            add(path / name, budget, found, prefix=_prefix(name), root=path)


def _prefix(name: str) -> str:
    return "adapter/" if name.startswith("adapter_") else "model/"


def _add_torch(
    path: Path, budget: Budget, found: Tensors, *, prefix: str = "", root: Path | None = None
) -> None:
    file = read_torch_file(path, budget, prefix=prefix.removesuffix("/"), root=root)
    found.leaves += file.leaves
    found.faults += file.faults


def _configured(path: Path, names: set[str], budget: Budget, found: Tensors) -> str | None:
    """What the config says of the dtype."""
    declared = None
    if CONFIG in names:
        with noted(found.faults.append, path=str(path / CONFIG)):
            config = read_object(path / CONFIG, budget)
            declared = declared_dtype(config)
            found.metadata["model_type"] = str(config.get("model_type"))[:100]
    return declared


def _read_parts(path: Path, names: set[str], budget: Budget, found: Tensors) -> None:
    for name in sorted(names):
        random = RANDOM.fullmatch(name)
        part = TORCH_PARTS.get(name) or (random[1] if random else None)
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
    _insist_on_weights(path, found.leaves, found)


def _insist_on_weights(path: Path, leaves: list[Leaf], found: Tensors) -> None:
    if not leaves and not found.faults:
        found.faults.append(MissingError(f"{path} holds no weights").fault(path=str(path)))


READER = Reader(
    recognizes=_recognizes, read=_read, order=30, restored_by_jax=False, unfinished=(unfinished.TRANSFORMERS,)
)
