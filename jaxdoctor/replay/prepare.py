"""The first worker of a probe: compiles the model and records what the others replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jaxdoctor.errors import UnsupportedModelError
from jaxdoctor.models.element_lines import ElementLines
from jaxdoctor.models.inspect import inspect_model
from jaxdoctor.models.mjx_support import refused, try_mjx
from jaxdoctor.replay.plan import Prepared, RecordPlan
from jaxdoctor.replay.scratch import Scratch
from jaxdoctor.rollouts.controls import read_controls
from jaxdoctor.rollouts.record import record
from jaxdoctor.rollouts.source import load_model
from jaxdoctor.workers.progress import Progress


def admit(argument: str, controls: str | None, *, progress: Progress) -> None:
    """Whether the model and the controls can be used at all, before anything slow is begun.

    Raises:
        UsageError, UnreadableError, UnsupportedModelError: they cannot.
    """
    progress.stage("reading the model")
    model = load_model(argument)
    _require_support(model, argument)
    if controls is not None:
        read_controls(Path(controls), model)


def _require_support(model: Any, argument: str) -> None:
    if not model.nv:
        raise UnsupportedModelError(
            f"nothing moves in {argument}: it has no joint",
            hint="MJX cannot step such a model; give the one that your run steps",
        )
    if any(refused(model, ElementLines(model, argument))):
        # MJX has the last word: the installed one may take more than our table says.
        try_mjx(model, argument)


def prepare(folder: str, plan: RecordPlan, *, progress: Progress) -> Prepared:
    """Fills the scratch folder.

    Raises:
        UsageError, UnreadableError, UnsupportedModelError: the model or the controls cannot be used.
    """
    progress.stage("recording with MuJoCo in float64")
    model = load_model(plan.model)
    facts = inspect_model(model, plan.model, plan.seed)
    _require_support(model, plan.model)
    given = None if plan.controls is None else read_controls(Path(plan.controls), model)
    recording = record(model, replays=plan.replays, steps=plan.steps, seed=plan.seed, controls=given)
    scratch = Scratch(folder)
    scratch.keep_model(model)
    scratch.keep_recording(recording)
    return Prepared(
        steps=recording.steps,
        start=recording.start,
        controls=recording.controls,
        warnings=recording.warnings,
        nonfinite=recording.nonfinite,
        model=facts,
    )
