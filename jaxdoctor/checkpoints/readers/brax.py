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
from jaxdoctor.storage.candidate import Candidate
from jaxdoctor.storage.contents import Contents
from jaxdoctor.storage.damage import noted
from jaxdoctor.storage.files import first_bytes
from jaxdoctor.storage.json_text import read_json
from jaxdoctor.storage.notes import Notes
from jaxdoctor.storage.orbax.checkpoints import read_checkpoint
from jaxdoctor.storage.orbax.places import TREE, is_item, names

CONFIG = "_network_config.json"
"""How the names of Brax's config files end: ppo_, sac_, bc_."""

RUN_CONFIG = "config.json"
"""What the saver calls it unless a trainer says more; Playground keeps one for the whole run."""

NORMALIZER = (b"\"('0', 'count'", b"\"('0', 'summed_variance'", b"\"('0', 'std'")
"""Keys of a tree whose first element is Brax's running statistics, as Playground's notebooks save it too."""

HEAD = 1 << 16
LARGEST_CONFIG = 1 << 20


def _recognizes(found: Candidate) -> bool:
    if not is_item(found):
        return False
    if any(name.endswith(CONFIG) for name in found.entries):
        return True
    head = first_bytes(found.path / TREE, HEAD)
    return all(key in head for key in NORMALIZER)


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


READER = Reader(recognizes=_recognizes, read=_read, order=30, folders=True)
