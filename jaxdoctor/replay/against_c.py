"""MJX at x64 against MuJoCo in C: one forced step from each state of C's own rollouts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from jaxdoctor.facts.outcome import Parting
from jaxdoctor.replay.ensemble import Ensemble, Rollout
from jaxdoctor.replay.judge import horizon
from jaxdoctor.replay.plan import Lane
from jaxdoctor.replay.scratch import Reference
from jaxdoctor.replay.system import Twin
from jaxdoctor.rollouts.in_c import LIMIT, without_reset
from jaxdoctor.rollouts.record import Recording

Array = npt.NDArray[Any]

SMOOTH = 1e-6
"""A relative difference that float64 leaves in nothing but a solver's result."""

SOLVED = 10.0
"""The solver stops when its cost, quadratic in the acceleration, falls by less than its tolerance: the
acceleration is then known to about the root of it, and two solvers may stop on either side."""

LEAST_CHANGE = 1e-3
"""Accelerations, in radians or metres per second squared, that count as none."""

WORST = 8


def tolerance_of(model: Any) -> float:
    """The relative difference in acceleration that the solver's stopping tolerance explains."""
    return max(SMOOTH, SOLVED * float(np.sqrt(max(model.opt.tolerance, 0.0))))


def states_in_c(twin: Twin, recording: Recording, replays: int) -> dict[str, Array]:
    """C's states before each step and after the last, by the simulation's leaves: steps + 1 x replays."""
    data = mujoco.MjData(twin.model)
    kept: dict[str, list[list[Array]]] = {leaf: [] for leaf in twin.leaves.values()}
    with without_reset(twin.model):
        for replay in range(replays):
            rows = _trajectory(twin, data, recording, replay)
            for leaf, row in rows.items():
                kept[leaf].append(row)
    return {leaf: np.stack([np.stack(row) for row in rows], axis=1) for leaf, rows in kept.items()}


def _trajectory(twin: Twin, data: Any, recording: Recording, replay: int) -> dict[str, list[Array]]:
    mujoco.mj_resetData(twin.model, data)
    for name, leaf in twin.leaves.items():
        if leaf in recording.starts:
            getattr(data, name)[:] = recording.starts[leaf][replay]
    rows = {leaf: [getattr(data, name).copy()] for name, leaf in twin.leaves.items()}
    for control in recording.ctrl[replay]:
        take(twin, data, control)
        for name, leaf in twin.leaves.items():
            rows[leaf].append(getattr(data, name).copy())
    return rows


def take(twin: Twin, data: Any, control: Array) -> None:
    """One step of the simulation in C."""
    if twin.control is not None:
        getattr(data, twin.control)[:] = control
    for _ in range(twin.substeps):
        mujoco.mj_step(twin.model, data)


def parting(
    twin: Twin, ensemble: Ensemble, recording: Recording, free: Rollout, *, deadline: float | None = None
) -> Parting | None:
    """How far MJX in this process, which is in x64, is from C; None where its state holds more than C's.

    Args:
        twin: the same physics in C.
        ensemble: compiled, of one lane.
        recording: start states and controls.
        free: what the first replays did by themselves.
        deadline: of `time.monotonic`.
    """
    if set(ensemble.simulation.carried) != set(twin.leaves.values()):
        return None
    there = states_in_c(twin, recording, ensemble.batch)
    forced = ensemble.roll_out(recording, [Lane(forced=True)], reference=there, deadline=deadline)[0]
    errors = _errors(twin, forced.states, there)
    limit = tolerance_of(twin.model)
    parted = np.argwhere(errors > limit)
    # Early first: of a rollout that runs away the last steps differ by what their size alone rounds off.
    tenth = max(1, len(errors) // 10)
    worst = sorted(parted, key=lambda at: (at[0] // tenth, -errors[tuple(at)]))[:WORST]
    finite = np.asarray(_usable(there[twin.leaves["qvel"]]).all(axis=0))
    return Parting(
        steps=int(np.isfinite(errors).sum()),
        parted=len(parted),
        error=float(np.nanmax(errors, initial=0.0)),
        tolerance=limit,
        worst=tuple((int(step), int(replay)) for step, replay in worst),
        horizon=horizon(free, Reference(states=there, finite=finite, aside=())),
    )


def _errors(twin: Twin, forced: Mapping[str, Array], there: Mapping[str, Array]) -> Array:
    """Steps x replays: the difference in velocity against its change; NaN where C's is beyond its limits."""
    leaf = twin.leaves["qvel"]
    after = forced[leaf][1:]
    before, expected = there[leaf][: len(after)], there[leaf][1 : len(after) + 1]
    seconds = float(twin.model.opt.timestep) * twin.substeps
    change = np.abs(expected - before).max(axis=2, initial=LEAST_CHANGE * seconds)
    difference = np.abs(after - expected).max(axis=2, initial=0.0)
    told = np.isfinite(difference) & _usable(before) & _usable(expected)
    return np.asarray(np.where(told, difference, np.nan) / change)


def _usable(velocities: Array) -> npt.NDArray[np.bool_]:
    """Steps x replays: whether the velocities are finite and within MuJoCo's limit."""
    return np.asarray((np.abs(velocities) < LIMIT).all(axis=2))
