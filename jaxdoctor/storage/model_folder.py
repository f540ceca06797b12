"""What a folder of Hugging Face must hold beside what it holds: weights, their index, configs, the optimizer.

A Trainer reads `optimizer.pt` and `scheduler.pt` only where both are there, and else silently starts a new
optimizer:
https://github.com/huggingface/transformers/blob/main/src/transformers/trainer.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from jaxdoctor.storage.damage import MissingError
from jaxdoctor.storage.listed import are_missing, listed
from jaxdoctor.storage.numbered import Numbered, numbered

STATE, ARGUMENTS, CONFIG, ADAPTER = (
    "trainer_state.json",
    "training_args.bin",
    "config.json",
    "adapter_config.json",
)
INDEX, BINARY_INDEX = ".safetensors.index.json", ".bin.index.json"
SAFETENSORS = ".safetensors"
BINARY = re.compile(r"(?:pytorch_model|adapter_model|diffusion_pytorch_model)\S*\.bin")
SHARD = re.compile(
    r"(?:model|pytorch_model|adapter_model|diffusion_pytorch_model)\S*-\d{5}-of-\d{5}\.(?:safetensors|bin)"
)
RANDOM = re.compile(r"(rng_state(?:_\d+)?)\.pth")
ADAPTER_WEIGHTS = frozenset({"adapter_model.safetensors", "adapter_model.bin"})
ELSEWHERE = ("global_step", "pytorch_model_fsdp", "optimizer_")
"""How folders begin in which DeepSpeed and FSDP keep weights and optimizer."""

ACCELERATE = re.compile(r"random_states_\d+\.pkl")
"""What `accelerate` leaves beside weights that it saves without a config."""

ACCELERATE_PART = re.compile(
    r"((?:optimizer|scheduler|sampler|scaler|random_states|custom_checkpoint|dl_state_dict)(?:_\d+)?)"
    r"\.(?:bin|pt|pkl)"
)
"""The rest of what `Accelerator.save_state` writes:
https://github.com/huggingface/accelerate/blob/main/src/accelerate/checkpointing.py"""


def parts_of(names: AbstractSet[str]) -> list[str]:
    """What every save of a run has when its first has it, of what `missing_parts` cannot know of one alone.

    A scheduler counts only beside its optimizer: a run may keep neither.
    """
    parts = sorted(names & {CONFIG, ARGUMENTS})
    return parts if "optimizer.pt" in names and "scheduler.pt" not in names else [*parts, "scheduler.pt"]


LOST_OPTIMIZER = "restore an older step; resumed from this one, training begins with a new optimizer"


def is_weights(name: str) -> bool:
    """Whether a file is called like one of weights."""
    return name.endswith(SAFETENSORS) or BINARY.fullmatch(name) is not None


def missing_parts(names: AbstractSet[str]) -> Iterator[MissingError]:
    """Everything that the names in a folder say is there, and that is not; one error for each cause."""
    yield from _index_and_shards(names)
    yield from _configs(names)
    yield from _weights(names)
    yield from _optimizer(names)
    yield from _random_states(names)


def _index_and_shards(names: AbstractSet[str]) -> Iterator[MissingError]:
    """Shards without their index; where there is one, what it names is looked for by its reader."""
    if any(name.endswith((INDEX, BINARY_INDEX)) for name in names):
        return
    for shards in numbered(name for name in names if SHARD.fullmatch(name)):
        yield from _without_index(shards)


def _without_index(shards: Numbered) -> Iterator[MissingError]:
    first = shards.present[0]
    stem = first[: first.rindex("-", 0, first.rindex("-of-"))]
    index = f"{stem}{first[first.rindex('.') :]}.index.json"
    count = len(shards.present) + len(shards.missing)
    if shards.missing:
        yield MissingError(
            f"{are_missing(shards.missing)}, of {count} shards, and so is {index}",
            hint="copy or download them too",
            evidence={"missing": [*shards.missing[:20], index]},
        )
    elif count > 1:
        yield MissingError(
            f"{index} is missing, without which the shards cannot be put together",
            hint="copy it, or write it anew from the headers of the shards",
        )


def _configs(names: AbstractSet[str]) -> Iterator[MissingError]:
    if names & ADAPTER_WEIGHTS and ADAPTER not in names:
        yield MissingError(
            f"{ADAPTER} is missing beside {min(names & ADAPTER_WEIGHTS)}, so no library knows what it adapts",
            hint="copy it from where the adapter was trained, or from an older step",
        )
    sharded = any(SHARD.fullmatch(name) for name in names) or any(name.endswith(INDEX) for name in names)
    accelerate = any(map(ACCELERATE.fullmatch, names))
    if sharded and CONFIG not in names and not accelerate and ADAPTER not in names:
        yield MissingError(
            f"{CONFIG} is missing beside the shards of a model",
            hint="copy it from the model that was trained",
        )


def _elsewhere(names: AbstractSet[str]) -> bool:
    return any(name.startswith(ELSEWHERE) for name in names)


def _weights(names: AbstractSet[str]) -> Iterator[MissingError]:
    saved = sorted(names & {"optimizer.pt", "scheduler.pt"} | {n for n in names if RANDOM.fullmatch(n)})
    if any(map(ACCELERATE.fullmatch, names)) and all(map(ACCELERATE_PART.fullmatch, names)):
        # Where nothing else lies beside them: a hook may save the weights under any name.
        saved = sorted(names)
    if saved and not any(map(is_weights, names)) and not _elsewhere(names):
        yield MissingError(
            f"it holds {listed(saved)} of a training and no weights",
            hint="restore an older step; these files alone cannot be resumed from",
        )


def _optimizer(names: AbstractSet[str]) -> Iterator[MissingError]:
    if _elsewhere(names) or any(name.startswith("optimizer") for name in names):
        return
    if STATE in names and "scheduler.pt" in names:
        scheduler = "scheduler.pt"
    elif any(map(ACCELERATE.fullmatch, names)) and "scheduler.bin" in names:
        scheduler = "scheduler.bin"
    else:
        return
    lost = scheduler.replace("scheduler", "optimizer")
    yield MissingError(f"{lost} is missing, and {scheduler} says that it was saved", hint=LOST_OPTIMIZER)


def _random_states(names: AbstractSet[str]) -> Iterator[MissingError]:
    """A gap among those of the processes."""
    ranks = {
        int(found[1].partition("rng_state_")[2] or -1) for name in names if (found := RANDOM.fullmatch(name))
    }
    lacking = [f"rng_state_{rank}.pth" for rank in range(max(ranks, default=-1)) if rank not in ranks]
    if lacking and max(ranks) < MOST_PROCESSES:
        yield MissingError(
            f"{are_missing(lacking)}, of {max(ranks) + 1} processes",
            hint="copy the whole folder; without it that process starts from another random state",
        )


MOST_PROCESSES = 100_000
