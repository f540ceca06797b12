"""A model as its source loads it, inspected."""

from __future__ import annotations

from jaxdoctor.facts.model import Model
from jaxdoctor.models.inspect import inspect_model
from jaxdoctor.rollouts.source import load_model
from jaxdoctor.workers.progress import SILENT, Progress


def inspect(argument: str, seed: int = 0, progress: Progress = SILENT) -> Model:
    """The facts about the model that an argument of `probe` names.

    Raises:
        UsageError, UnreadableError, UnsupportedModelError: as `jaxdoctor.rollouts.source.load_model`.
    """
    progress.stage("inspecting the model")
    return inspect_model(load_model(argument), argument, seed)
