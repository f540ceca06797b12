"""The first worker of a probe: reads the model and records what the others replay."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.replay.keep_played import keep_recording
from jaxdoctor.replay.plan import Prepared, RecordPlan
from jaxdoctor.replay.scratch import Scratch
from jaxdoctor.replay.system import system_of
from jaxdoctor.workers.progress import Progress


def prepare(folder: str, plan: RecordPlan, *, progress: Progress) -> Prepared:
    """Fills the scratch folder.

    Raises:
        UsageError, UnreadableError, UnsupportedModelError: the model or the controls cannot be used.
    """
    progress.stage("reading the model")
    recording, facts = system_of(plan.model).record(plan, Path(folder), progress)
    scratch = Scratch(folder)
    scratch.keep_plan(plan)
    scratch.keep_recording(recording)
    if plan.keep is not None and recording.loop is None:
        keep_recording(plan.keep, recording)
    timestep = None if facts is None else facts.timestep
    return Prepared(
        steps=recording.steps,
        replays=recording.replays,
        start=recording.start,
        controls=recording.controls,
        in_c=recording.in_c,
        model=facts,
        loop=recording.loop,
        seconds=timestep if recording.seconds is None else recording.seconds,
    )
