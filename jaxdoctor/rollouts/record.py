"""What is replayed: start states and controls, and what MuJoCo in C and float64 makes of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from jaxdoctor.facts.closed_loop import ClosedLoop
from jaxdoctor.facts.outcome import RolledInC
from jaxdoctor.models.poses import start_pose
from jaxdoctor.rollouts.controls import Controls, random_controls
from jaxdoctor.rollouts.in_c import roll_out

Floats = npt.NDArray[np.float64]

START_SCALE = 0.01
"""Start states differ by normal noise of this size: radians, metres, and a tenth of a unit per second."""

VELOCITY_SCALE = 0.1

# As numbers: a constant of MuJoCo does not equal a NumPy integer, only the other way round.
SCALAR_JOINTS = {int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)}

WITHIN_LIMITS = 1e-3
"""A perturbed joint keeps this share of its range as distance from its limits."""


LEAST_SECONDS, LEAST_STEPS = 1.0, 500
"""A rollout is by default as long as the longer of the two: what diverges shows in a second."""


def default_steps(step_seconds: float) -> int:
    """How many steps a rollout has while nobody says how many.

    Args:
        step_seconds: simulated seconds of one step.
    """
    return max(LEAST_STEPS, math.ceil(LEAST_SECONDS / step_seconds - 1e-9))


@dataclass(frozen=True, kw_only=True)
class Recording:
    """Start states and controls, and how MuJoCo's own rollout of them went."""

    starts: Mapping[str, npt.NDArray[Any]]
    """Each replay's start by leaf of the state, "qpos" among them for MuJoCo: replays x the leaf's shape."""

    ctrl: Floats
    """replays x steps x nu."""

    start: str
    """Where the start states come from: "keyframe home", "init_qpos", "qpos0", or a file."""

    controls: str | None
    """Where the controls come from: "band-limited random", "none (the model has no actuator)", or a file.

    None: it is a call, which has no controls.
    """

    in_c: RolledInC = field(default_factory=RolledInC)
    """How MuJoCo's own rollout of them in float64 went."""

    loop: ClosedLoop | None = None
    """The policy that drives, and what; None: controls do."""

    seconds: float | None = None
    """Simulated seconds of one step, where they are told and are not the model's timestep."""

    def part(self, steps: int) -> Recording:
        """The same without the steps after so many."""
        return self if steps >= self.steps else replace(self, ctrl=self.ctrl[:, :steps])

    @property
    def qpos(self) -> Floats:
        """Replays x nq."""
        return self.starts["qpos"]

    @property
    def qvel(self) -> Floats:
        """Replays x nv."""
        return self.starts["qvel"]

    @property
    def act(self) -> Floats:
        """Replays x na."""
        return self.starts["act"]

    @property
    def replays(self) -> int:
        """How many replays it holds."""
        return int(self.ctrl.shape[0])

    @property
    def steps(self) -> int:
        """How long each replay is."""
        return int(self.ctrl.shape[1])


def record(
    model: Any, *, replays: int, steps: int | None, seed: int, controls: Controls | None = None
) -> Recording:
    """Start states by `seed` around the start pose, controls at random or as given, rolled out in C.

    Args:
        model: an `mujoco.MjModel`.
        replays: how many; a file that holds several gives them in turn.
        steps: how many; None takes as many as the file has, or `default_steps`.
        seed: of everything random.
        controls: what a file gave.
    """
    generator = np.random.default_rng(seed)
    qpos, qvel, act, start = _starts(model, replays, generator, controls)
    if controls is None:
        steps = default_steps(float(model.opt.timestep)) if steps is None else steps
        ctrl = random_controls(model, replays, steps, generator, qpos=start_pose(model).qpos)
        origin = "band-limited random" if model.nu else "none, for the model has no actuators"
    else:
        ctrl, origin = controls.take(replays, steps), controls.origin
    return Recording(
        starts={"qpos": qpos, "qvel": qvel, "act": act}, ctrl=ctrl, start=start, controls=origin,
        in_c=roll_out(model, qpos, qvel, act, ctrl),
    )  # fmt: skip


def _starts(
    model: Any, replays: int, generator: np.random.Generator, controls: Controls | None
) -> tuple[Floats, Floats, Floats, str]:
    """The first replay starts exactly at the model's start pose or the file's state; the others near it."""
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    pose = start_pose(model)
    data.qpos[:], origin = pose.qpos, pose.name
    qpos = np.repeat(data.qpos[None], replays, axis=0)
    qvel = np.repeat(data.qvel[None], replays, axis=0)
    act = np.repeat(data.act[None], replays, axis=0)
    for replay in range(1, replays):
        _disturb(model, qpos[replay], generator)
        qvel[replay] += VELOCITY_SCALE * generator.standard_normal(model.nv)
    if controls is not None and controls.qpos is not None:
        qpos, origin = controls.taken(controls.qpos, replays), controls.origin
    if controls is not None and controls.qvel is not None:
        qvel = controls.taken(controls.qvel, replays)
    return qpos, qvel, act, origin


def _disturb(model: Any, qpos: Floats, generator: np.random.Generator) -> None:
    """Moves a pose a little, along its tangent space, so that quaternions stay unit; limits are kept."""
    mujoco.mj_integratePos(model, qpos, START_SCALE * generator.standard_normal(model.nv), 1.0)
    mujoco.mj_normalizeQuat(model, qpos)
    for joint in np.flatnonzero(model.jnt_limited):
        if int(model.jnt_type[joint]) in SCALAR_JOINTS:
            low, high = model.jnt_range[joint]
            inside = WITHIN_LIMITS * (high - low)
            address = model.jnt_qposadr[joint]
            qpos[address] = np.clip(qpos[address], low + inside, high - inside)
