"""Actuators with feedback: how stiff each is for its joint, and which drive themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

from jaxdoctor.facts.model import SelfDriven, Servo
from jaxdoctor.models.element_lines import ElementLines
from jaxdoctor.models.poses import start_pose

FLAG = mujoco.mjtDisableBit

# MuJoCo 3.3.3 has one flag for both: mjDSBL_PASSIVE.
WITHOUT_SPRINGS = getattr(FLAG, "mjDSBL_SPRING", None) or FLAG.mjDSBL_PASSIVE
WITHOUT_DAMPERS = getattr(FLAG, "mjDSBL_DAMPER", None) or FLAG.mjDSBL_PASSIVE

LAST_SWITCHABLE_GROUP = 30
"""Actuators of later groups cannot be switched off."""

# As numbers: a NumPy integer equals a constant of MuJoCo, but the constant does not equal it.
SCALAR_JOINTS = {int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)}


def servos(model: Any, spots: ElementLines, state: Any) -> Iterator[Servo]:
    """Actuators with feedback on one hinge or slide, reduced to that joint.

    Args:
        model: the compiled model.
        spots: where its elements stand.
        state: a `mujoco.MjData` with positions and inertias, as `mj_fwdPosition` leaves it.
    """
    for actuator in range(model.nu):
        joint = model.actuator_trnid[actuator, 0]
        on_joint = model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT
        feeds_back = model.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_AFFINE
        if not on_joint or not feeds_back or model.jnt_type[joint] not in SCALAR_JOINTS:
            continue
        if is_off(model, actuator):
            continue
        yield _servo(model, spots, state, actuator, joint)


def is_off(model: Any, actuator: int) -> bool:
    """Whether the option `actuatorgroupdisable` names its group."""
    group = int(model.actuator_group[actuator])
    return 0 <= group <= LAST_SWITCHABLE_GROUP and bool(model.opt.disableactuator & (1 << group))


def _servo(model: Any, spots: ElementLines, state: Any, actuator: int, joint: int) -> Servo:
    dof = model.jnt_dofadr[joint]
    gear = model.actuator_gear[actuator, 0]
    _, kp, kv = -model.actuator_biasprm[actuator, :3] * gear**2
    springs, dampers = (not model.opt.disableflags & flag for flag in (WITHOUT_SPRINGS, WITHOUT_DAMPERS))
    passive = float(np.ravel(model.dof_damping[dof])[0]) if dampers else 0.0
    implicit = model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    damps = model.opt.integrator == mujoco.mjtIntegrator.mjINT_EULER and not (
        model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    )
    unit = np.zeros((1, model.nv))
    unit[0, dof] = 1
    solved = np.zeros((1, model.nv))
    mujoco.mj_solveM(model, state, solved, unit)
    given_way = float(solved[0, dof])
    return Servo(
        spot=spots.at("actuator", actuator),
        number=actuator,
        joint=spots.at("joint", joint).name,
        stiffness=float(kp + (np.ravel(model.jnt_stiffness[joint])[0] if springs else 0)),
        explicit_damping=(0.0 if implicit else float(kv)) + (0.0 if implicit or damps else passive),
        implicit_damping=(float(kv) if implicit else 0.0) + (passive if implicit or damps else 0.0),
        inertia=1 / given_way if given_way > 0 else 0.0,
    )


def _force_limited(model: Any, element: str) -> Any:
    """By joint or tendon; MuJoCo 3.3.3 does not limit the force on a tendon."""
    if element == "joint":
        return model.jnt_actfrclimited
    return getattr(model, "tendon_actfrclimited", np.zeros(model.ntendon, bool))


def thrown(model: Any) -> list[float]:
    """How far each motor on a hinge or slide moves it in one timestep, by its full force; 0 for all others.

    In radians or metres, at the start pose, while the other joints are free to give way.
    """
    state = mujoco.MjData(model)
    state.qpos[:] = start_pose(model).qpos
    mujoco.mj_fwdPosition(model, state)
    solved = np.zeros((model.nv, model.nv))
    if model.nv:
        mujoco.mj_solveM(model, state, solved, np.eye(model.nv))
    found = []
    for actuator in range(model.nu):
        joint = int(model.actuator_trnid[actuator, 0])
        moves = (
            model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT
            and model.actuator_gaintype[actuator] == mujoco.mjtGain.mjGAIN_FIXED
            and model.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_NONE
            and model.jnt_type[joint] in SCALAR_JOINTS
            and not is_off(model, actuator)
        )
        dof = model.jnt_dofadr[joint] if moves else 0
        yields = float(solved[dof, dof]) if moves else 0.0
        found.append(_force(model, actuator) * yields * float(model.opt.timestep) ** 2)
    return found


def _force(model: Any, actuator: int) -> float:
    """The largest on its joint: N or N m."""
    asked = 1.0
    if model.actuator_ctrllimited[actuator]:
        asked = float(np.abs(model.actuator_ctrlrange[actuator]).max())
    force = abs(float(model.actuator_gainprm[actuator, 0])) * asked
    if model.actuator_forcelimited[actuator]:
        force = min(force, float(np.abs(model.actuator_forcerange[actuator]).max()))
    return force * abs(float(model.actuator_gear[actuator, 0]))


def self_driven(model: Any, spots: ElementLines) -> Iterator[SelfDriven]:
    """Actuators on a hinge, slide or tendon that push along its velocity harder than its damping brakes."""
    damps = not model.opt.disableflags & WITHOUT_DAMPERS
    for actuator in range(model.nu):
        if model.actuator_biastype[actuator] != mujoco.mjtBias.mjBIAS_AFFINE or is_off(model, actuator):
            continue
        target = int(model.actuator_trnid[actuator, 0])
        match model.actuator_trntype[actuator]:
            case mujoco.mjtTrn.mjTRN_JOINT if model.jnt_type[target] in SCALAR_JOINTS:
                element, damping = "joint", np.ravel(model.dof_damping[model.jnt_dofadr[target]])[0]
            case mujoco.mjtTrn.mjTRN_TENDON:
                element, damping = "tendon", np.ravel(model.tendon_damping[target])[0]
            case _:
                continue
        feedback = model.actuator_biasprm[actuator, 2] * model.actuator_gear[actuator, 0] ** 2
        braked = float(damping) if damps else 0.0
        if feedback > braked:
            yield SelfDriven(
                spot=spots.at("actuator", actuator),
                target=spots.at(element, target),
                feedback=float(feedback),
                damping=braked,
                bounded=bool(model.actuator_forcelimited[actuator] or _force_limited(model, element)[target]),
            )
