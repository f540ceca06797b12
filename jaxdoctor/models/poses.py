"""Poses in which a model is looked at: where replays start, keyframes, and random ones within the limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from jaxdoctor.facts.model import QPOS0

UNLIMITED_SLIDE = 0.1
"""How far a slide without limits is moved, in metres."""


@dataclass(frozen=True, kw_only=True)
class Pose:
    """One configuration of a model."""

    name: str
    """"qpos0", "keyframe home", "init_qpos" or "random 3"."""

    qpos: npt.NDArray[np.float64]


INIT_QPOS = "init_qpos"
"""The custom numeric from which Brax takes the pose that an episode starts in.

https://github.com/google/brax/blob/main/brax/io/mjcf.py
"""


def start_pose(model: Any) -> Pose:
    """Where a replay starts: the first keyframe, Brax's `init_qpos`, or qpos0."""
    if model.nkey and _is_written(model, 0):
        return _keyframe(model, 0)
    written = _numeric(model, INIT_QPOS)
    if len(written) == model.nq > 0 and np.isfinite(written).all():
        return Pose(name=INIT_QPOS, qpos=_unit(model, written.copy()))
    return Pose(name=QPOS0, qpos=model.qpos0.copy())


def _is_written(model: Any, key: int) -> bool:
    """Whether it is more than what `<size nkey="..."/>` sets aside."""
    velocity = (model.key_qvel[key], model.key_act[key], model.key_ctrl[key])
    moved = bool((model.key_qpos[key] != model.qpos0).any() or any(values.any() for values in velocity))
    return moved or bool(model.key(key).name)


def _keyframe(model: Any, key: int) -> Pose:
    return Pose(name=f"keyframe {model.key(key).name or key}", qpos=_unit(model, model.key_qpos[key].copy()))


def _numeric(model: Any, name: str) -> npt.NDArray[np.float64]:
    index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_NUMERIC, name)
    if index < 0:
        return np.empty(0)
    start = model.numeric_adr[index]
    return np.asarray(model.numeric_data[start : start + model.numeric_size[index]])


def poses(model: Any, randoms: int, seed: int) -> Iterator[Pose]:
    """qpos0, where replays start, the other keyframes, and `randoms` random poses."""
    yield Pose(name=QPOS0, qpos=model.qpos0.copy())
    if start_pose(model).name == INIT_QPOS:
        yield start_pose(model)
    for key in range(model.nkey):
        yield _keyframe(model, key)
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
