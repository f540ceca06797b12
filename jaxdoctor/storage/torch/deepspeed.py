"""The folder of one DeepSpeed save: a file a model-parallel rank, and with ZeRO one a data-parallel rank."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.damage import MissingError
from jaxdoctor.storage.listed import are_missing
from jaxdoctor.storage.pickles.parts import Table
from jaxdoctor.storage.steps import step_of
from jaxdoctor.storage.torch.files import TorchFile
from jaxdoctor.storage.torch.ranks import MOST_RANKS, RESTORE, read_ranks

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
    """The tag that a file `latest` names and that is not there; empty: the file names none."""
    latest = folder / LATEST
    try:
        if not latest.is_file() or latest.stat().st_size > LONGEST_TAG:
            return None
        tag = latest.read_text(errors="replace").strip()
    except OSError:
        return None
    if not re.fullmatch(r"[\w.-]{0,128}", tag) or (tag and (folder / tag).exists()):
        return None
    return tag


def dangling(tag: str, there: str | None = None) -> MissingError:
    """The error of a `latest` that names the tag; `there`: a save that could be named."""
    name = f", or write {there} into {LATEST} once it is known to be whole" if there else ""
    if not tag:
        return MissingError(f"{LATEST} is empty, so that no save is found by it", hint=f"copy it again{name}")
    return MissingError(f"{LATEST} names {tag}, which is not there", hint=f"copy {tag} too{name}")


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
    save.group.faults += [error.fault(path=str(folder)) for error in _missing_states(_groups(folder), root)]
    tag = dangling_tag(folder.parent)
    if tag is not None:
        error = dangling(tag, _newest(folder))
        save.group.faults.append(error.fault(path=str(folder.parent / LATEST)))
    return save


def _newest(folder: Path) -> str:
    """The name of the last save beside this one."""
    beside = [
        name for name in Candidate(folder.parent).folders if is_deepspeed(Candidate(folder.parent / name))
    ]
    return max(beside, key=lambda name: step_of(Path(name)) or 0, default=folder.name)


def _missing_states(groups: Iterable[tuple[str, int]], root: object) -> Iterator[MissingError]:
    """Model or optimizer states of which no file is left, and model-parallel ranks that lack."""
    kinds = {kind for kind, _ in groups}
    if not kinds & {"model_states", "zero_model_states"}:
        yield MissingError(
            "it holds optimizer states and no model states: mp_rank_00_model_states.pt is missing",
            hint=RESTORE,
        )
    if "optim_states" not in kinds and _says_partitioned(root):
        yield MissingError(
            "it holds no optimizer states, and its model states say that ZeRO wrote them beside",
            hint="copy them too; resumed without them, training begins with a new optimizer",
            evidence={"missing_kind": "optim_states"},
        )
    world = root.get("mp_world_size") if isinstance(root, Table) else None
    present = {model for kind, model in groups if kind == "model_states"}
    if isinstance(world, int) and present and world < MOST_RANKS:
        lacking = [f"mp_rank_{rank:02d}_model_states.pt" for rank in range(world) if rank not in present]
        if lacking:
            yield MissingError(f"{are_missing(lacking)}, of {world} model-parallel ranks", hint=RESTORE)


def _says_partitioned(root: object) -> bool:
    """Whether the optimizer is kept by ZeRO: then the model states hold shapes and no optimizer."""
    if not isinstance(root, Table) or root.get("optimizer") is not None:
        return False
    config = root.get("ds_config")
    zero = config.get("zero_optimization") if isinstance(config, Table) else None
    stage = zero.get("stage") if isinstance(zero, Table) else None
    return root.get("param_shapes") is not None or (isinstance(stage, int) and stage > 0)


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
