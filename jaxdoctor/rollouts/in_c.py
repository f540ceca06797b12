"""What MuJoCo in C and float64 makes of start states and controls, with its auto-reset off."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from jaxdoctor.facts.outcome import Growth, RolledInC, SolverEffort
from jaxdoctor.models.compile import warnings_heard

Floats = npt.NDArray[np.float64]

UNUSABLE = ("BADQPOS", "BADQVEL", "BADQACC")
"""Warnings of values that are not finite or beyond `LIMIT`: by them MuJoCo resets a simulation."""

LIMIT = float(mujoco.mjMAXVAL)
"""MuJoCo takes no position, velocity or acceleration for usable that is larger."""

PARTS = 10
"""A rollout is judged for growth by its tenths."""

FEWEST_STEPS = 2 * PARTS

GROWN = 100.0
"""The last tenth's speed is so many times the first's before growth is spoken of."""

FASTER_THAN_FALLING = 1.3
"""From tenth to tenth. What falls or is pushed steadily slows down to 10/9 and below, even a force that
rises evenly to (10/9)^2; only growth by a factor a step keeps such a ratio to the end."""

LAST_PARTS = 5


@contextlib.contextmanager
def without_reset(model: Any) -> Iterator[None]:
    """Within it, MuJoCo goes on from a bad state instead of resetting it, and warns nobody but us."""
    flags = model.opt.disableflags
    with warnings_heard():
        model.opt.disableflags = flags | mujoco.mjtDisableBit.mjDSBL_AUTORESET
        try:
            yield
        finally:
            model.opt.disableflags = flags


def warned(data: Any) -> dict[str, int]:
    """The warnings that a state has counted, by their short names."""
    return {
        kind.name.removeprefix("mjWARN_"): int(data.warning[kind].number)
        for kind in mujoco.mjtWarning.__members__.values()
        if kind != mujoco.mjtWarning.mjNWARNING and data.warning[kind].number
    }


def is_usable(data: Any) -> bool:
    """Whether positions, velocities and accelerations are finite and within MuJoCo's limit."""
    return all(
        bool((np.abs(values) < LIMIT).all()) if len(values) else True
        for values in (data.qpos, data.qvel, data.qacc)
    )


def roll_out(model: Any, qpos: Floats, qvel: Floats, act: Floats, ctrl: Floats) -> RolledInC:
    """Simulates every replay.

    Args:
        model: the compiled model.
        qpos: replays x nq, the start states.
        qvel: replays x nv.
        act: replays x na.
        ctrl: replays x steps x nu.
    """
    with without_reset(model):
        runs = [_Run(model, *start) for start in zip(qpos, qvel, act, ctrl, strict=True)]
    warnings: dict[str, int] = {}
    for run in runs:
        for name, count in run.warnings.items():
            warnings[name] = warnings.get(name, 0) + count
    unusable = [run.unusable_step for run in runs if run.unusable_step is not None]
    return RolledInC(
        replays=len(runs),
        warnings=warnings,
        nonfinite=sum(not run.finite for run in runs),
        unusable=len(unusable),
        first_unusable_step=min(unusable, default=None),
        solver=_effort(model, np.concatenate([run.iterations for run in runs])),
        growth=_growth(runs),
    )


class _Run:
    """One replay in C."""

    def __init__(self, model: Any, qpos: Floats, qvel: Floats, act: Floats, ctrl: Floats) -> None:
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:], data.act[:] = qpos, qvel, act
        self.finite = True
        self.unusable_step: int | None = None
        iterations: list[int] = []
        speeds: list[float] = []
        energies: list[float] = []
        for step, now in enumerate(ctrl):
            data.ctrl[:] = now
            mujoco.mj_step(model, data)
            if self.unusable_step is None and not is_usable(data):
                self.unusable_step = step
            self.finite = all(np.isfinite(values).all() for values in (data.qpos, data.qvel, data.qacc))
            if not self.finite:
                break
            mujoco.mj_energyVel(model, data)
            iterations.append(int(data.solver_niter.max(initial=0)) if data.nefc else 0)
            speeds.append(float(np.abs(data.qvel).max(initial=0)))
            energies.append(float(data.energy[1]))
        self.warnings = warned(data)
        self.iterations = np.array(iterations, int)
        self.speeds, self.energies = np.array(speeds), np.array(energies)


def _effort(model: Any, iterations: npt.NDArray[Any]) -> SolverEffort | None:
    """Over the steps in which there was anything to solve."""
    solved = iterations[iterations > 0]
    if not len(solved):
        return None
    limit = int(model.opt.iterations)
    return SolverEffort(
        steps=len(solved),
        mean=float(f"{solved.mean():.3g}"),
        largest=int(solved.max()),
        at_limit=int((solved >= limit).sum()),
        limit=limit,
        tolerance=float(model.opt.tolerance),
    )


def _growth(runs: list[_Run]) -> Growth | None:
    """Of the replays whose speed, or the root of whose kinetic energy, grows by a factor in every step."""
    growing = [run for run in runs if grows(run.speeds) or grows(np.sqrt(np.maximum(run.energies, 0)))]
    if not growing:
        return None
    worst = max(growing, key=lambda run: float(run.speeds[-1]))
    return Growth(
        growing=len(growing),
        replays=len(runs),
        speeds=(float(_tenths(worst.speeds)[0]), float(_tenths(worst.speeds)[-1])),
        energies=(float(_tenths(worst.energies)[0]), float(_tenths(worst.energies)[-1])),
    )


def _tenths(values: Floats) -> Floats:
    """The largest value in each tenth."""
    return np.array([part.max() for part in np.array_split(values, PARTS)])


def grows(values: Floats) -> bool:
    """Whether it grows by a factor from tenth to tenth until the end, and has grown a lot.

    Args:
        values: a speed in each step, not negative.
    """
    if len(values) < FEWEST_STEPS:
        return False
    tenths = _tenths(values)
    if not tenths.all() or tenths[-1] < GROWN * tenths[0]:
        return False
    ratios = tenths[1:] / tenths[:-1]
    return bool((ratios[-LAST_PARTS:] >= FASTER_THAN_FALLING).all())
