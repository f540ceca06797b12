"""Brax and MuJoCo Playground: an Orbax tree of (normalizer, policy, value) with the network's config.

The step stands in the folder's name only. `0/count` counts environment steps: a float32 up to Brax 0.13,
from 0.14 on two uint32 halves, `0/count/hi` and `0/count/lo`.
https://github.com/google/brax/blob/main/brax/training/checkpoint.py
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from jaxdoctor.checkpoints.reader import Reader
from jaxdoctor.storage.budget import Budget
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import noted
from jaxdoctor.storage.json_text import read_json
from jaxdoctor.storage.notes import Notes
from jaxdoctor.storage.orbax.brax import CONFIG, LARGEST_CONFIG, RUN_CONFIG, is_brax
from jaxdoctor.storage.orbax.checkpoints import read_checkpoint
from jaxdoctor.storage.orbax.places import names


def _read(path: Path, budget: Budget) -> Contents:
    notes = Notes()
    config = _configs(path, budget, notes)
    contents = read_checkpoint(path, budget)
    return dataclasses.replace(
        contents,
        metadata={**contents.metadata, **config},
        faults=(*contents.faults, *notes.faults),
    )


def _configs(path: Path, budget: Budget, notes: Notes) -> dict[str, Any]:
    """The network's config from the checkpoint, and Playground's from the run."""
    found = {}
    for name in names(path):
        if name.endswith(CONFIG) or name == RUN_CONFIG:
            with noted(notes, path=str(path / name)):
                found["network_config"] = read_json(path / name, budget, root=path, limit=LARGEST_CONFIG)
    run = path.parent / RUN_CONFIG
    if run.is_file():
        with noted(notes, path=str(run)):
            found["run_config"] = read_json(run, budget, limit=LARGEST_CONFIG)
    return found


READER = Reader(recognizes=is_brax, read=_read, order=30, folders=True)
