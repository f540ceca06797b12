"""The first worker of a probe: compiles the model and records what the others replay."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.errors import UnsupportedModelError
from jaxdoctor.model import Model
from jaxdoctor.progress import Progress
from jaxdoctor.replay.controls import read_controls
from jaxdoctor.replay.inspect import inspect_model
from jaxdoctor.replay.plan import Prepared, RecordPlan
from jaxdoctor.replay.record import record
from jaxdoctor.replay.scratch import Scratch
from jaxdoctor.source import load_model


def prepare(folder: str, plan: RecordPlan, *, progress: Progress) -> Prepared:
    """Fills the scratch folder.

    Raises:
        UsageError, UnreadableError, UnsupportedModelError: the model or the controls cannot be used.
    """
    progress.stage("recording with MuJoCo in float64")
    model = load_model(plan.model)
    facts = inspect_model(model, plan.model, plan.seed)
    _require_support(facts)
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


def _require_support(model: Model) -> None:
    """Whether MJX takes every feature of the model.

    Raises:
        UnsupportedModelError: it does not take one.
    """
    if not model.refused:
        return
    first, *others = model.refused
    line = "" if first.line is None else f", line {first.line}"
    more = f" Nor does it take {', '.join(feature.what for feature in others)}." if others else ""
    raise UnsupportedModelError(
        f"MJX does not take {first.what} ({model.path}{line})",
        hint=f"`jaxdoctor rule unsupported-by-mjx` names common replacements.{more}",
    )
