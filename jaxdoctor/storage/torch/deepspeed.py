"""The folder of one DeepSpeed save: a file a model-parallel rank, and with ZeRO one a data-parallel rank."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.damage import MissingError
from jaxdoctor.storage.pickles.parts import Table
from jaxdoctor.storage.torch.files import TorchFile
from jaxdoctor.storage.torch.ranks import read_ranks

# Older releases left out the "_" before "optim_states".
NAME = re.compile(
    r"(?:(?P<zero>(?:bf16_|fp16_)?zero_pp_rank_(?P<data>\d{1,6}))_)?"
    r"mp_rank_(?P<model>\d{1,6})_?(?P<kind>model_states|optim_states)\.pt"
)
LATEST = "latest"
LONGEST_TAG = 256


@dataclass
class Save:
    """What one folder holds."""

    group: TorchFile = field(default_factory=TorchFile)
    step: int | None = None


def is_deepspeed(folder: Candidate) -> bool:
    """Whether a folder is the save of one tag."""
    return any(map(NAME.fullmatch, folder.entries))


def dangling_tag(folder: Path) -> str | None:
    """The tag that a file `latest` names and that is not there."""
    latest = folder / LATEST
    try:
        if not latest.is_file() or latest.stat().st_size > LONGEST_TAG:
            return None
        tag = latest.read_text(errors="replace").strip()
    except OSError:
        return None
    if not re.fullmatch(r"[\w.-]{1,128}", tag) or (folder / tag).exists():
        return None
    return tag


def read_deepspeed(folder: Path, budget: Budget, *, prefix: str = "") -> Save:
    """The leaves of one tag's folder, below "model_states/" and "optim_states/"."""
    save = Save()
    for (kind, model), files in sorted(_groups(folder).items()):
        start = f"{prefix}{kind}/" if model == 0 else f"{prefix}{kind}/mp_{model}/"
        group = read_ranks(files, _world(save.group.root, kind, files), budget, prefix=start)
        save.group.leaves += group.leaves
        save.group.faults += group.faults
        save.group.bytes_total += group.bytes_total
        if save.group.root is None:
            save.group.root = group.root
    root = save.group.root
    step = root.get("global_steps") if isinstance(root, Table) else None
    save.step = step if isinstance(step, int) else None
    tag = dangling_tag(folder.parent)
    if tag is not None:
        error = MissingError(f"{folder.parent / LATEST} names {tag}, which is not there")
        save.group.faults.append(error.fault(path=str(folder.parent / LATEST)))
    return save


def _groups(folder: Path) -> dict[tuple[str, int], dict[int, Path]]:
    """Files by what they hold and by model-parallel rank, then by data-parallel rank."""
    groups: dict[tuple[str, int], dict[int, Path]] = {}
    for entry in sorted(folder.iterdir()):
        match = NAME.fullmatch(entry.name)
        if match is not None:
            kind = (
                match["kind"]
                if match["zero"] is None or match["kind"] == "optim_states"
                else "zero_model_states"
            )
            groups.setdefault((kind, int(match["model"])), {})[int(match["data"] or 0)] = entry
    return groups


def _world(root: object, kind: str, files: dict[int, Path]) -> int | None:
    """How many data-parallel ranks there were, which the model's states say."""
    if kind == "model_states" or not isinstance(root, Table):
        return None
    world = root.get("dp_world_size")
    return world if isinstance(world, int) and world >= len(files) else None
