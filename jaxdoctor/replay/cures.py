"""Changes to a failing model, each replayed from the states in which it fails."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from jaxdoctor.errors import JaxdoctorError
from jaxdoctor.facts.cure import Cure
from jaxdoctor.facts.outcome import RolledInC
from jaxdoctor.models.changes import Change, changed, changes
from jaxdoctor.replay.ensemble import Ensemble, Rollout
from jaxdoctor.replay.judge import always_nonfinite
from jaxdoctor.replay.plan import CurePlan, Lane
from jaxdoctor.replay.scratch import Scratch
from jaxdoctor.replay.systems.mjx import simulation
from jaxdoctor.rollouts.in_c import LIMIT, roll_out
from jaxdoctor.rollouts.record import Recording
from jaxdoctor.rollouts.touched import touched_geoms
from jaxdoctor.workers.progress import Progress

STEPS_BEFORE = 5
"""A replay that the engine fails in is tried from so many steps before on: there is nothing wrong earlier."""

STEPS_AFTER = 25

NEARBY = 0.01
"""So much faster or slower are the states around one that fails."""

IN_C = "MuJoCo in C"


def try_in_c(folder: str, plan: CurePlan, *, progress: Progress) -> tuple[Cure, ...]:
    """Every change, replayed by MuJoCo in C and float64 from the start: for what fails there too."""
    scratch = Scratch(folder)
    recording, twin = scratch.recording(), scratch.twin()
    if twin is None or twin.substeps != 1:
        return ()
    touched = touched_geoms(twin.model, recording, range(min(plan.batch, recording.replays)))
    wanted = list(changes(twin.model, touched))
    progress.stage("trying changes to the model in C", len(wanted))
    before, found = _gone(recording.in_c), []
    for number, change in enumerate(wanted):
        if time.monotonic() > plan.deadline:
            found.append(Cure(change=change.name))
            continue
        given = _stretched(recording) if change.halves_timestep else recording
        rolled = roll_out(changed(twin.model, change), given.qpos, given.qvel, given.act, given.ctrl)
        found.append(
            Cure(
                change=change.name,
                failed=_gone(rolled),
                replays=recording.replays,
                instead_of=before,
                where=IN_C,
            )
        )
        progress.reached(number + 1)
    return tuple(found)


def _gone(rolled: RolledInC) -> int:
    """Replays beyond MuJoCo's limits, or on their way there."""
    return max(rolled.unusable, rolled.growth.growing if rolled.growth is not None else 0)


def _stretched(recording: Recording) -> Recording:
    """Every control for two steps."""
    return replace(recording, ctrl=np.repeat(recording.ctrl, 2, axis=1))


def try_in_mjx(folder: str, plan: CurePlan, *, progress: Progress) -> tuple[Cure, ...]:
    """Changes of numbers in one compiled program; of structure, the one that the plan names."""
    scratch = Scratch(folder)
    twin = scratch.twin()
    if twin is None or twin.substeps != 1:
        return ()
    return _Trying(scratch.recording(), twin.model, plan, progress).run()


class _Trying:
    """One program, and what is replayed in it."""

    def __init__(self, recording: Recording, model: Any, plan: CurePlan, progress: Progress) -> None:
        self.recording, self.model, self.plan, self.progress = recording, model, plan, progress
        progress.stage("compiling the step to try changes")
        self.ensemble = Ensemble(simulation(model), batch=plan.batch, emulated=False)
        self.known: dict[str, Cure] = {}

    def run(self) -> tuple[Cure, ...]:
        last = min(self.plan.first + self.plan.batch, self.recording.replays)
        touched = touched_geoms(self.model, self.recording, range(self.plan.first, last))
        wanted = list(changes(self.model, touched))
        self.known = {change.name: Cure(change=change.name) for change in wanted}
        free = self.ensemble.roll_out(
            self.recording, [Lane(first=self.plan.first)], deadline=self.plan.deadline
        )[0]
        self.aside = always_nonfinite(free)
        window = self._window(free)
        before = self._failed(self.ensemble, window)
        self.progress.stage("trying changes to the model in MJX", len(wanted))
        for number, change in enumerate(wanted):
            if time.monotonic() > self.plan.deadline:
                break
            program = self._program(change)
            if program is not None:
                failed = self._failed(program, _stretched(window) if change.halves_timestep else window)
                self.known[change.name] = Cure(
                    change=change.name,
                    failed=failed,
                    replays=self.plan.batch,
                    instead_of=before,
                    where=self.plan.where,
                )
                self.progress.hand_over(tuple(self.known.values()))
            self.progress.reached(number + 1)
        return tuple(self.known.values())

    def _program(self, change: Change) -> Ensemble | None:
        """The compiled program with the change's numbers; one of its own only for what the plan names."""
        try:
            other = simulation(changed(self.model, change))
        except JaxdoctorError:
            return None
        if _alike(other.parameters, self.ensemble.simulation.parameters):
            if self.plan.only is not None:
                return None
            self.ensemble.simulation = replace(self.ensemble.simulation, parameters=other.parameters)
            return self.ensemble
        if self.plan.only != change.name:
            return None
        return Ensemble(other, batch=self.plan.batch, emulated=False)

    def _window(self, free: Rollout) -> Recording:
        """From where each replay is tried: shortly before it fails, or, for the model's faults, the start."""
        ill = self._ill(free)
        if self.plan.near:
            return self._nearby(free, ill)
        failed: npt.NDArray[np.bool_] = np.asarray(ill.any(axis=0))
        steps = min(int(ill.argmax(axis=0)[failed].max(initial=0)) + STEPS_AFTER, len(ill))
        part = slice(self.plan.first, self.plan.first + self.plan.batch)
        starts = {name: values[part] for name, values in self.recording.starts.items()}
        return replace(self.recording, starts=starts, ctrl=self.recording.ctrl[part, :steps])

    def _nearby(self, free: Rollout, ill: npt.NDArray[np.bool_]) -> Recording:
        """One bad spot is easily missed: the rows of healthy replays look at its surroundings."""
        failed: npt.NDArray[np.bool_] = np.asarray(ill.any(axis=0))
        failing = np.flatnonzero(failed) if failed.any() else np.arange(len(failed))
        rows = np.where(failed, np.arange(len(failed)), np.resize(failing, len(failed)))
        start = np.maximum(ill.argmax(axis=0)[rows] - STEPS_BEFORE, 0)
        at = np.minimum(start[:, None] + np.arange(STEPS_BEFORE + STEPS_AFTER), self.recording.steps - 1)
        starts = {name: values[start, rows].copy() for name, values in free.states.items()}
        noise = 1 + NEARBY * np.random.default_rng(0).standard_normal(starts["qvel"].shape)
        starts["qvel"] *= np.where(failed[:, None], 1.0, noise)
        replays = self.plan.first + rows
        return replace(self.recording, starts=starts, ctrl=self.recording.ctrl[replays[:, None], at])

    def _failed(self, ensemble: Ensemble, window: Recording) -> int:
        rollout = ensemble.roll_out(window, [Lane()], deadline=self.plan.deadline)[0]
        state = np.concatenate([np.abs(values).reshape(*values.shape[:2], -1) for values in (
            rollout.states[name] for name in rollout.state)], axis=2)  # fmt: skip
        beyond = ~(state < LIMIT).all(axis=(0, 2))
        return int((self._ill(rollout).any(axis=0) | beyond).sum())

    def _ill(self, rollout: Rollout) -> npt.NDArray[np.bool_]:
        watched = np.array([leaf not in self.aside for leaf in rollout.leaves])
        return np.asarray(rollout.bad[:, :, watched].any(axis=2))


def _alike(one: Any, other: Any) -> bool:
    """Whether a program compiled for one model takes the other."""
    leaves, others = jax.tree.leaves(one), jax.tree.leaves(other)
    same: Any = jax.tree.structure(one)
    return bool(same == jax.tree.structure(other)) and all(
        _shape(a) == _shape(b) for a, b in zip(leaves, others, strict=True)
    )


def _shape(leaf: Any) -> tuple[Any, Any]:
    return np.shape(leaf), getattr(leaf, "dtype", type(leaf))
