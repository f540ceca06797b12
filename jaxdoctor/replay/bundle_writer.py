"""The worker that writes a captured failure into a bundle."""

from __future__ import annotations

from pathlib import Path

from jaxdoctor.bundles.bundle import Bundle
from jaxdoctor.bundles.write import write
from jaxdoctor.facts.recorded import RecordedFailure
from jaxdoctor.replay.packed_policy import packed
from jaxdoctor.replay.plan import BundlePlan
from jaxdoctor.replay.scratch import Scratch
from jaxdoctor.rollouts.source import find_source
from jaxdoctor.workers.progress import Progress


def write_bundle(folder: str, plan: BundlePlan, *, progress: Progress) -> RecordedFailure:
    """Writes the file.

    Raises:
        TooLargeError: it would be larger than a bundle may be.
        UsageError: it cannot be written.
    """
    progress.stage("writing the bundle")
    scratch, captured = Scratch(folder), plan.captured
    recorded, failure = scratch.plan(), captured.failure
    state, start, control = scratch.capture(captured.file)
    model, files = scratch.packed() or (None, {})
    policy = packed(recorded.policy) if plan.with_policy and recorded.policy is not None else None
    bundle = Bundle(
        written_by="probe",
        subject=recorded.model,
        system=find_source(recorded.model).system,
        failure=failure,
        first_step=captured.first_step,
        state=state,
        start=start,
        start_step=captured.start_step,
        control=control,
        seed=recorded.seed,
        replays=max(recorded.replays, recorded.light_replays),
        model=model,
        files=files,
        policy=policy,
        versions=plan.versions,
        settings=plan.settings,
        environment=plan.environment,
    )
    path = Path(plan.path)
    held = write(path, bundle).policy
    return RecordedFailure(
        path=plan.path,
        precision=failure.name,
        replay=failure.replay,
        step=failure.step,
        field=failure.field,
        steps=bundle.steps,
        bytes=path.stat().st_size,
        policy=None if held is None else held.name,
        policy_left_out=None if held is None else held.left_out,
    )
