"""Checkpoints sorted into the runs that wrote them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from jaxdoctor.checkpoints.options import Options
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.series import Series
from jaxdoctor.storage.steps import run_of


def in_runs(checkpoints: Sequence[Checkpoint], options: Options) -> list[Series]:
    """Checkpoints sorted into runs: by the folder and what their names have in common, or as told."""
    runs: dict[object, list[Checkpoint]] = {}
    for index, saved in enumerate(checkpoints):
        key: object = (run_of(Path(saved.path)), saved.format)
        if options.series is not None:
            key = None if options.series else index
        runs.setdefault(key, []).append(saved)
    return [
        Series(
            path=_common_folder(run),
            checkpoints=tuple(sorted(run, key=_age)),
            expectations=options.expectations,
        )
        for run in runs.values()
    ]


def _age(saved: Checkpoint) -> tuple[float, int]:
    return saved.saved_at or 0.0, saved.step or 0


def _common_folder(run: Sequence[Checkpoint]) -> str:
    return run[0].path if len(run) == 1 else os.path.commonpath([saved.path for saved in run])
