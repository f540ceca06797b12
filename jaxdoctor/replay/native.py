"""Replays at a precision that the device really has: one worker for each process-wide setting."""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from jaxdoctor.facts.trial import wilson
from jaxdoctor.replay.ensemble import Ensemble, Rollout
from jaxdoctor.replay.first_step import first_step_within
from jaxdoctor.replay.judge import always_nonfinite, horizon, judgement_of
from jaxdoctor.replay.one_step import steps_in_c
from jaxdoctor.replay.plan import Judgement, Lane, NativePlan, NativeReplay
from jaxdoctor.replay.scratch import Reference, Scratch
from jaxdoctor.rollouts.record import Recording
from jaxdoctor.workers.progress import Progress

TIMED_RUNS = 3
"""The fastest of so many is the time of a step: whatever disturbs only makes it slower."""

CLEAR_WIDTH = 0.12
"""A share of failures is known well enough when its interval is no wider."""


def replay(folder: str, plan: NativePlan, *, progress: Progress) -> NativeReplay:
    """Replays the recording in this process as JAX is configured in it."""
    deadline = time.monotonic() + plan.seconds
    scratch = Scratch(folder)
    recording = scratch.recording()
    with scratch.busy():
        with first_step_within(plan.first_step_seconds, progress):
            progress.stage(f"compiling the step in {plan.title}")
            ensemble = Ensemble(scratch.simulation(), batch=plan.batch, emulated=False)
            ensemble.compile()
            progress.stage(f"replaying in {plan.title}", recording.steps)
            first = ensemble.roll_out(recording, [Lane()], deadline=deadline, progress=progress)[0]
        shadow_horizon: float | None = None
        aside: tuple[str, ...] = ()
        if plan.is_reference:
            shadow_horizon, aside = _publish(scratch, ensemble, recording, first, deadline)
        judgement, parts = _until_clear(ensemble, recording, first, plan, deadline, aside)
        twin = scratch.twin() if plan.is_reference and judgement.failed else None
        taken = None
        if twin is not None:
            taken = steps_in_c(twin, recording, parts, replays=judgement.replays, aside=aside)
    singly = _one_by_one(scratch, recording, plan, deadline, aside) if plan.one_by_one else None
    return NativeReplay(
        judgement=judgement,
        shadow_horizon=shadow_horizon,
        seconds_per_step=_time(scratch, ensemble, recording, deadline),
        compile_seconds=ensemble.compile_seconds,
        peak_bytes=ensemble.peak_bytes,
        singly=singly,
        steps_in_c=taken,
    )


def _publish(
    scratch: Scratch, ensemble: Ensemble, recording: Recording, rollout: Rollout, deadline: float
) -> tuple[float | None, tuple[str, ...]]:
    """Hands the states to the other workers; the shadow's horizon and the fields to set aside."""
    aside = always_nonfinite(rollout)
    watched = [leaf not in aside for leaf in rollout.leaves]
    finite = np.asarray(~rollout.bad[:, :, watched].any(axis=(0, 2)))
    reference = Reference(states=rollout.states, finite=finite, aside=aside)
    scratch.keep_reference(reference)
    shadow = ensemble.roll_out(recording, [Lane(disturbed=True)], deadline=deadline)[0]
    return horizon(shadow, reference), aside


def _until_clear(
    ensemble: Ensemble,
    recording: Recording,
    first: Rollout,
    plan: NativePlan,
    deadline: float,
    aside: tuple[str, ...],
) -> tuple[Judgement, list[Rollout]]:
    """More replays while the share of failures is neither none nor all nor known well."""
    parts, replays = [first], plan.replays
    while True:
        judgement = judgement_of(Lane(), parts, replays=replays, aside=aside)
        held = len(parts) * plan.batch
        share = wilson(judgement.failed, judgement.replays)
        clear = judgement.failed in (0, judgement.replays) or share.high - share.low < CLEAR_WIDTH
        if (held >= plan.replays and clear) or held >= plan.most_replays or time.monotonic() > deadline:
            return judgement, parts
        parts += ensemble.roll_out(recording, [Lane(first=held)], deadline=deadline)
        replays = max(plan.replays, len(parts) * plan.batch)


def _one_by_one(
    scratch: Scratch, recording: Recording, plan: NativePlan, deadline: float, aside: tuple[str, ...]
) -> Judgement | None:
    """The same states in programs of one replay, which compile to other kernels."""
    with scratch.busy():
        single = Ensemble(scratch.simulation(), batch=1, emulated=False)
        parts: list[Rollout] = []
        for index in range(plan.replays):
            if parts and time.monotonic() > deadline:
                break
            parts += single.roll_out(recording, [Lane(first=index)], deadline=deadline)
    return judgement_of(Lane(), parts, replays=len(parts), aside=aside)


def _time(scratch: Scratch, ensemble: Ensemble, recording: Recording, deadline: float) -> float | None:
    """Seconds per step of one replay while no other worker computes; None when that never was."""
    short = dataclasses.replace(recording, ctrl=recording.ctrl[:, : ensemble.chunk])
    with scratch.alone(deadline) as alone:
        if not alone:
            return None
        # A failed replay ends loops early, or late, so only the start is timed.
        runs = [ensemble.roll_out(short, [Lane()])[0].seconds_per_step for _ in range(TIMED_RUNS)]
    return min((seconds for seconds in runs if seconds is not None), default=None)
