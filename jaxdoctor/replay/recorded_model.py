"""An `MjModel` that a function of the user's made: recorded and stepped like one from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco

from jaxdoctor.facts.model import Model
from jaxdoctor.models.inspect import inspect_model
from jaxdoctor.models.mjx_support import try_mjx
from jaxdoctor.replay.plan import RecordPlan
from jaxdoctor.replay.system import Simulation, Twin
from jaxdoctor.replay.systems.mjx import simulation
from jaxdoctor.rollouts.record import Recording
from jaxdoctor.rollouts.record import record as record_in_c
from jaxdoctor.rollouts.source import find_source
from jaxdoctor.workers.progress import Progress


def record(made: Any, plan: RecordPlan, path: Path, progress: Progress) -> tuple[Recording, Model]:
    """Start states and random controls of the model, recorded by MuJoCo in C.

    Raises:
        UnsupportedModelError: MJX does not take it.
    """
    named = find_source(plan.model).load(plan.model)
    progress.stage("recording with MuJoCo in float64")
    try_mjx(made, named.shown)
    mujoco.mj_saveModel(made, str(path))
    facts = inspect_model(made, named.shown, plan.seed)
    return record_in_c(made, replays=plan.replays, steps=plan.steps, seed=plan.seed), facts


def load(path: Path, name: str) -> Simulation:
    """The model's simulation in MJX."""
    return simulation(_kept(path), name)


def twin(path: Path) -> Twin:
    """The model itself."""
    return Twin(model=_kept(path))


def _kept(path: Path) -> Any:
    return mujoco.MjModel.from_binary_path(str(path))
