"""The first worker of a probe: compiles the model and records what the others replay."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.progress import Progress
from jaxdoctor.replay.controls import read_controls
from jaxdoctor.replay.inspect import inspect_model
from jaxdoctor.replay.plan import Prepared, RecordPlan
from jaxdoctor.replay.record import record
from jaxdoctor.replay.scratch import Scratch
from jaxdoctor.replay.support import try_mjx
from jaxdoctor.source import load_model


def prepare(folder: str, plan: RecordPlan, *, progress: Progress) -> Prepared:
    """Fills the scratch folder.

    Raises:
        UsageError, UnreadableError, UnsupportedModelError: the model or the controls cannot be used.
    """
    progress.stage("recording with MuJoCo in float64")
    model = load_model(plan.model)
    facts = inspect_model(model, plan.model, plan.seed)
    if facts.refused:
        # MJX has the last word: the installed one may take more than our table says.
        try_mjx(model, plan.model)
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
