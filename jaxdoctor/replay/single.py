"""The same states and keys in a batch of one: inference, beside the batch of training."""

from __future__ import annotations

import time
from dataclasses import replace

from jaxdoctor.replay.ensemble import CHUNK_STEPS, Ensemble
from jaxdoctor.replay.episodes import episodes_of, returns_of
from jaxdoctor.replay.judge import always_nonfinite, judgement_of
from jaxdoctor.replay.plan import Single, SinglePlan
from jaxdoctor.replay.scratch import Scratch
from jaxdoctor.replay.sweep import lane_of
from jaxdoctor.workers.progress import Progress


def replay(folder: str, plan: SinglePlan, *, progress: Progress) -> Single:
    """Replays the recording in a program of one replay, every replay of a precision a lane of it."""
    scratch = Scratch(folder)
    with scratch.busy():
        recording = scratch.recording()
        progress.stage("compiling the step for a batch of one")
        ensemble = Ensemble(
            scratch.simulation(), batch=1, lanes=plan.replays, chunk=min(CHUNK_STEPS, recording.steps)
        )
        known = Single(sites=tuple(site.place for site in ensemble.program.sites))
        progress.hand_over(known)
        driven, full = ensemble.simulation.driven, None
        aside: tuple[str, ...] = ()
        for precision in plan.named:
            if known.named and time.monotonic() > plan.deadline:
                break
            progress.stage(f"replaying one by one at {precision.name}", recording.steps)
            lane = lane_of(precision)
            lanes = [replace(lane, first=index) for index in range(plan.replays)]
            parts = ensemble.roll_out(recording, lanes, deadline=plan.deadline, progress=progress)
            aside = aside or tuple(name for part in parts[:1] for name in always_nonfinite(part))
            judgement = judgement_of(lane, parts, replays=len(parts), aside=aside)
            if driven is not None:
                judgement = judgement.with_episodes(
                    episodes_of(parts, driven, replays=len(parts), aside=aside, full=full)
                )
                full = returns_of(parts, driven, aside) if full is None else full
            known = Single(sites=known.sites, named=(*known.named, (precision, judgement)))
            progress.hand_over(known)
    return known
