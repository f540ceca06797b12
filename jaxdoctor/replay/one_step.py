"""The step at which MJX failed, taken once more by MuJoCo in C and float64: the engine, or the model?

Two rollouts part by chance, so whether C's own one stays finite says little about the step that failed. From
MJX's last finite state, with the same control, one step is decided by the state alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from jaxdoctor.facts.outcome import StepInC
from jaxdoctor.replay.ensemble import Rollout
from jaxdoctor.replay.system import Twin
from jaxdoctor.rollouts.in_c import is_usable, warned, without_reset
from jaxdoctor.rollouts.record import Recording

MOST = 16
"""So many failed replays are looked at, the earliest first: the verdict is the earliest step's."""


def steps_in_c(
    twin: Twin, recording: Recording, rollouts: Sequence[Rollout], *, replays: int, aside: Iterable[str] = ()
) -> tuple[StepInC, ...]:
    """What C makes of the last finite state of every replay that failed, earliest first.

    Args:
        twin: the same physics in C.
        recording: the controls.
        rollouts: one for each part of the replays, in their order, with as many replays each.
        replays: how many are judged; the last part may hold more.
        aside: fields that are not finite in a healthy replay either.
    """
    data = mujoco.MjData(twin.model)
    found = []
    with without_reset(twin.model):
        for step, replay in sorted(failures(rollouts, replays, aside))[:MOST]:
            part, row = divmod(replay, rollouts[0].bad.shape[1])
            state = {name: values[step, row] for name, values in rollouts[part].states.items()}
            found.append(_taken(twin, data, state, recording.ctrl[replay, step], step, replay))
    return tuple(found)


def failures(
    rollouts: Sequence[Rollout], replays: int, aside: Iterable[str] = ()
) -> Iterable[tuple[int, int]]:
    """The first bad step and the number of every replay that failed."""
    watched = np.array([leaf not in set(aside) for leaf in rollouts[0].leaves])
    first = 0
    for rollout in rollouts:
        ill: npt.NDArray[np.bool_] = np.asarray(rollout.bad[:, :, watched].any(axis=2))
        for row in np.flatnonzero(ill.any(axis=0)):
            if first + row < replays:
                yield int(np.argmax(ill[:, row])), int(first + row)
        first += ill.shape[1]


def _taken(
    twin: Twin, data: Any, state: Mapping[str, npt.NDArray[Any]], control: Any, step: int, replay: int
) -> StepInC:
    mujoco.mj_resetData(twin.model, data)
    for name, leaf in twin.leaves.items():
        if leaf in state:
            getattr(data, name)[:] = state[leaf]
    if twin.control is not None:
        getattr(data, twin.control)[:] = control
    for _ in range(twin.substeps):
        mujoco.mj_step(twin.model, data)
    # A warning alone counts too: a mass matrix close to singular is the model's.
    warnings = tuple(sorted(warned(data)))
    return StepInC(step=step, replay=replay, holds=is_usable(data) and not warnings, warnings=warnings)
