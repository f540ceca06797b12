"""The recording replayed by MuJoCo Warp, and held against MuJoCo in C.

Warp's kernels compute in float32 on whatever device JAX has, and no precision of JAX reaches them. So there
is one replay, and nothing to emulate.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from jaxdoctor.replay.against_c import states_in_c
from jaxdoctor.replay.ensemble import Rollout
from jaxdoctor.replay.judge import horizon, judgement_of, one_step_error
from jaxdoctor.replay.plan import Judgement, Lane, WarpPlan
from jaxdoctor.replay.scratch import Reference, Scratch
from jaxdoctor.replay.system import Twin
from jaxdoctor.replay.warp_engines import CARRIED, WATCHED, warp_engine
from jaxdoctor.rollouts.in_c import without_reset
from jaxdoctor.workers.progress import Progress

Array = npt.NDArray[Any]

ROOM = 4
"""So many times the contacts and constraints that C had are set aside, and at least `LEAST`."""

LEAST = 64


def replay(folder: str, plan: WarpPlan, *, progress: Progress) -> Judgement | None:
    """Replays the first batch of the recording; None where there is no C twin to hold it against.

    Raises:
        MissingPackageError: warp-lang is not installed.
        UnsupportedModelError: Warp does not take the model.
    """
    scratch = Scratch(folder)
    twin, recording = scratch.twin(), scratch.recording()
    if twin is None or twin.substeps != 1:
        return None
    there = states_in_c(twin, recording, plan.batch)
    progress.stage("compiling Warp's kernels")
    engine = Warp(twin.model, plan.batch, *_room(twin, there))
    ctrl = np.moveaxis(recording.ctrl[: plan.batch], 0, 1)
    starts = {name: there[name][0] for name in CARRIED}
    progress.stage("replaying in Warp", recording.steps)
    free = engine.roll_out(starts, ctrl, None, plan.deadline, progress)
    progress.stage("one step from each of C's states in Warp", recording.steps)
    forced = engine.roll_out(starts, ctrl[: len(free.bad)], there, plan.deadline, progress)
    judgement = judgement_of(Lane(), [free], replays=plan.batch)
    finite = np.asarray(np.isfinite(there["qvel"]).all(axis=(0, 2)))
    reference = Reference(states=there, finite=finite, aside=())
    return Judgement(
        **{
            **vars(judgement),
            "horizon": horizon(free, reference),
            "one_step_error": one_step_error(forced, reference),
        }
    )


def _room(twin: Twin, there: Mapping[str, Array]) -> tuple[int, int]:
    """The most contacts and constraints of a state, for which Warp's arrays are made."""
    data, contacts, constraints = mujoco.MjData(twin.model), 0, 0
    with without_reset(twin.model):
        for qpos in there["qpos"][::10].reshape(-1, twin.model.nq):
            if np.isfinite(qpos).all():
                data.qpos[:] = qpos
                mujoco.mj_fwdPosition(twin.model, data)
                contacts, constraints = max(contacts, data.ncon), max(constraints, data.nefc)
    return max(LEAST, ROOM * contacts), max(LEAST, ROOM * constraints)


class Warp:
    """The Warp that the user runs, stepping a batch."""

    def __init__(self, model: Any, batch: int, contacts: int, constraints: int) -> None:
        self._engine = warp_engine(model, batch, contacts, constraints)

    def roll_out(
        self,
        starts: Mapping[str, Array],
        ctrl: Array,
        forced: Mapping[str, Array] | None,
        deadline: float,
        progress: Progress,
    ) -> Rollout:
        """Steps the batch; from the forced states, where there are some, instead of from its own."""
        state = {name: np.asarray(values, np.float32) for name, values in starts.items()}
        kept = {name: [values] for name, values in state.items()}
        bad = []
        for step, control in enumerate(ctrl):
            if forced is not None:
                state = {name: forced[name][step] for name in CARRIED}
            data = self._engine.step(state, control)
            state = {name: data[name] for name in CARRIED}
            for name, values in state.items():
                kept[name].append(values)
            seen = [data[name] for name in WATCHED]
            bad.append(np.stack([~np.isfinite(x).reshape(len(x), -1).all(axis=1) for x in seen], axis=-1))
            progress.reached(step + 1)
            if time.monotonic() > deadline:
                break
        states = {name: np.stack(values) for name, values in kept.items()}
        return Rollout(bad=np.stack(bad), leaves=WATCHED, states=states)
