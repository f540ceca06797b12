"""Checkpoints sorted into the runs that wrote them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from jaxdoctor.checkpoints.experiments import are_experiments
from jaxdoctor.checkpoints.options import Options
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.series import MOMENT, Series
from jaxdoctor.storage.steps import run_of

BESIDE_STEP = re.compile(r"=-?\d+(?:\.\d+)?(?:e-?\d+)?")
"""Other numbers in a name of Lightning: "epoch=2-val_loss=0.31-step=24.ckpt"."""


def in_runs(checkpoints: Sequence[Checkpoint], options: Options) -> list[Series]:
    """Checkpoints sorted into runs: by the folder and what their names have in common, or as asked."""
    runs: dict[object, list[Checkpoint]] = {}
    for index, saved in enumerate(checkpoints):
        folder, common = run_of(Path(saved.path))
        key: object = (folder, BESIDE_STEP.sub("=", common), saved.format)
        if options.series is not None:
            key = None if options.series else index
        runs.setdefault(key, []).append(saved)
    return [
        Series(path=_common_folder(part), checkpoints=tuple(part), expectations=options.expectations)
        for run in runs.values()
        for part in _parts(run, options)
    ]


def _parts(run: Sequence[Checkpoint], options: Options) -> Iterator[list[Checkpoint]]:
    """The run in the order of its saves, or each of its members where they are experiments."""
    common = run_of(Path(run[0].path))[1].partition("/")[0]
    if options.series is None and are_experiments(run, common.partition("#")[0]):
        yield from ([saved] for saved in run)
    else:
        yield _in_order(run)


def _in_order(run: Sequence[Checkpoint]) -> list[Checkpoint]:
    """By the time of the save; by step where the times are those of a copy."""
    by_time = sorted(run, key=_age)
    return sorted(run, key=_number) if _were_copied(by_time) else by_time


def _were_copied(by_time: Sequence[Checkpoint]) -> bool:
    """Whether the files' times are those of a copy: all within moments, or in the order of the names."""
    if len(by_time) < 2 or not all(saved.copied_time for saved in by_time):  # noqa: PLR2004 (an order)
        return False
    gaps = [(after.saved_at or 0.0) - (before.saved_at or 0.0) for before, after in pairwise(by_time)]
    if max(gaps) < MOMENT:
        return True
    names = [saved.path for saved in by_time]
    return names == sorted(names)


def _age(saved: Checkpoint) -> tuple[float, int]:
    return saved.saved_at or 0.0, saved.step or 0


def _number(saved: Checkpoint) -> tuple[int, float]:
    named = saved.step if saved.named_step is None else saved.named_step
    return named or 0, saved.saved_at or 0.0


def _common_folder(run: Sequence[Checkpoint]) -> str:
    return run[0].path if len(run) == 1 else os.path.commonpath([saved.path for saved in run])
