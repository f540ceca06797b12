"""Poses in which a model is looked at: qpos0, keyframes, and random ones within the limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

UNLIMITED_SLIDE = 0.1
"""How far a slide without limits is moved, in metres."""


@dataclass(frozen=True, kw_only=True)
class Pose:
    """One configuration of a model."""

    name: str
    """"qpos0", "keyframe home" or "random 3"."""

    qpos: npt.NDArray[np.float64]


def start_poses(model: Any) -> Iterator[Pose]:
    """The keyframes; qpos0 when there is none, for that is where a replay starts then."""
    for key in range(model.nkey):
        yield Pose(
            name=f"keyframe {model.key(key).name or key}", qpos=_unit(model, model.key_qpos[key].copy())
        )
    if not model.nkey:
        yield Pose(name="qpos0", qpos=model.qpos0.copy())


def poses(model: Any, randoms: int, seed: int) -> Iterator[Pose]:
    """qpos0, the keyframes, and `randoms` random poses."""
    yield Pose(name="qpos0", qpos=model.qpos0.copy())
    if model.nkey:
        yield from start_poses(model)
    generator = np.random.default_rng(seed)
    for number in range(randoms):
        yield Pose(name=f"random {number}", qpos=_random(model, generator))


def _random(model: Any, generator: np.random.Generator) -> npt.NDArray[np.float64]:
    qpos = model.qpos0.copy()
    for joint in range(model.njnt):
        address = model.jnt_qposadr[joint]
        match model.jnt_type[joint]:
            case mujoco.mjtJoint.mjJNT_FREE:
                qpos[address + 3 : address + 7] = generator.standard_normal(4)
            case mujoco.mjtJoint.mjJNT_BALL:
                qpos[address : address + 4] = generator.standard_normal(4)
            case _:
                qpos[address] = generator.uniform(*_reach(model, joint))
    return _unit(model, qpos)


def _reach(model: Any, joint: int) -> tuple[float, float]:
    if model.jnt_limited[joint]:
        low, high = model.jnt_range[joint]
        return float(low), float(high)
    reach = np.pi if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE else UNLIMITED_SLIDE
    middle = float(model.qpos0[model.jnt_qposadr[joint]])
    return middle - reach, middle + reach


def _unit(model: Any, qpos: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    mujoco.mj_normalizeQuat(model, qpos)
    return qpos
