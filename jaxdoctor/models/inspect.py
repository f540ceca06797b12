"""A model, judged before anything is replayed: MuJoCo only, no jax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

from jaxdoctor.facts.model import Hull, LimitViolation, Loop, Model, Overlap, Servo
from jaxdoctor.models.compile import warnings_heard
from jaxdoctor.models.constraints import constraints, is_disabled
from jaxdoctor.models.contacts import geom_pairs
from jaxdoctor.models.element_lines import ElementLines
from jaxdoctor.models.inertia import inertias, judged_mass_matrix
from jaxdoctor.models.mass_matrix import is_matrix_product
from jaxdoctor.models.mjx_support import ignored, refused
from jaxdoctor.models.poses import Pose, poses, start_pose

RANDOM_POSES = 30
"""Random poses in which the mass matrix is looked at, besides qpos0 and the keyframes."""

# As numbers: a NumPy integer equals a constant of MuJoCo, but the constant does not equal it.
SCALAR_JOINTS = {int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)}
FLAG = mujoco.mjtDisableBit

LAST_SWITCHABLE_GROUP = 30
"""Actuators of later groups cannot be switched off."""

CLOSING = {int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD)}


def inspect_model(model: Any, argument: str, seed: int = 0) -> Model:
    """The facts about a compiled model; `argument` is where it came from."""
    with warnings_heard():
        return _inspected(model, ElementLines(model, argument), argument, seed)


def _inspected(model: Any, spots: ElementLines, argument: str, seed: int) -> Model:
    option = model.opt
    chosen = list(poses(model, RANDOM_POSES, seed))
    start = start_pose(model)
    pairs = [] if is_disabled(model, FLAG.mjDSBL_CONTACT) else list(geom_pairs(model))
    return Model(
        path=argument,
        nq=model.nq,
        nv=model.nv,
        nu=model.nu,
        nbody=model.nbody,
        timestep=option.timestep,
        integrator=INTEGRATORS.get(option.integrator, "unknown"),
        solver=mujoco.mjtSolver(option.solver).name.removeprefix("mjSOL_"),
        cone=mujoco.mjtCone(option.cone).name.removeprefix("mjCONE_").lower(),
        iterations=option.iterations,
        ls_iterations=option.ls_iterations,
        tolerance=option.tolerance,
        impratio=option.impratio,
        disabled=tuple(_disabled(option.disableflags)),
        constraints=tuple(constraints(model, spots, pairs)),
        joints=tuple(inertias(model, spots, chosen)),
        servos=tuple(_servos(model, spots, start)),
        loops=tuple(_loops(model, spots, start)),
        overlaps=tuple(_overlaps(model, spots, start)),
        limit_violations=tuple(_limit_violations(model, spots, start)),
        mass_matrix=judged_mass_matrix(model, chosen, is_product=is_matrix_product(model)),
        depth=_depth(model),
        extent=model.stat.extent,
        contact_pairs=len(pairs),
        contacts_at_start=int(_contacts(model, start).ncon),
        max_contact_points=_numeric(model, "max_contact_points"),
        max_geom_pairs=_numeric(model, "max_geom_pairs"),
        hulls=tuple(_hulls(model, spots, pairs)),
        refused=tuple(refused(model, spots)),
        ignored=tuple(ignored(model, spots)),
    )


INTEGRATORS = {
    mujoco.mjtIntegrator.mjINT_EULER: "Euler",
    mujoco.mjtIntegrator.mjINT_RK4: "RK4",
    mujoco.mjtIntegrator.mjINT_IMPLICIT: "implicit",
    mujoco.mjtIntegrator.mjINT_IMPLICITFAST: "implicitfast",
}


def _depth(model: Any) -> int:
    scalar = [int(kind) in SCALAR_JOINTS for kind in model.jnt_type]
    depths = [0] * model.nbody
    for body in range(1, model.nbody):
        first = model.body_jntadr[body]
        own = scalar[first : first + model.body_jntnum[body]] if first >= 0 else []
        depths[body] = depths[model.body_parentid[body]] + sum(own)
    return max(depths)


def _disabled(flags: int) -> Iterator[str]:
    for name, flag in mujoco.mjtDisableBit.__members__.items():
        if name.startswith("mjDSBL_") and flags & flag:
            yield name.removeprefix("mjDSBL_").lower()


def _contacts(model: Any, pose: Pose) -> Any:
    """A state with positions, contacts and constraints at the pose."""
    state = mujoco.MjData(model)
    state.qpos[:] = pose.qpos
    mujoco.mj_fwdPosition(model, state)
    return state


def _servos(model: Any, spots: ElementLines, pose: Pose) -> Iterator[Servo]:
    state = _contacts(model, pose)
    for actuator in range(model.nu):
        joint = model.actuator_trnid[actuator, 0]
        on_joint = model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT
        feeds_back = model.actuator_biastype[actuator] == mujoco.mjtBias.mjBIAS_AFFINE
        if not on_joint or not feeds_back or model.jnt_type[joint] not in SCALAR_JOINTS:
            continue
        if _is_off(model, actuator):
            continue
        yield _servo(model, spots, state, actuator, joint)


def _is_off(model: Any, actuator: int) -> bool:
    """Whether the option `actuatorgroupdisable` names its group."""
    group = int(model.actuator_group[actuator])
    return 0 <= group <= LAST_SWITCHABLE_GROUP and bool(model.opt.disableactuator & (1 << group))


def _servo(model: Any, spots: ElementLines, state: Any, actuator: int, joint: int) -> Servo:
    dof = model.jnt_dofadr[joint]
    gear = model.actuator_gear[actuator, 0]
    _, kp, kv = -model.actuator_biasprm[actuator, :3] * gear**2
    springs, dampers = (
        not model.opt.disableflags & flag for flag in (FLAG.mjDSBL_SPRING, FLAG.mjDSBL_DAMPER)
    )
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
        joint=spots.at("joint", joint).name,
        stiffness=float(kp + (np.ravel(model.jnt_stiffness[joint])[0] if springs else 0)),
        explicit_damping=(0.0 if implicit else float(kv)) + (0.0 if implicit or damps else passive),
        implicit_damping=(float(kv) if implicit else 0.0) + (passive if implicit or damps else 0.0),
        inertia=1 / given_way if given_way > 0 else 0.0,
    )


def _loops(model: Any, spots: ElementLines, pose: Pose) -> Iterator[Loop]:
    if is_disabled(model, FLAG.mjDSBL_EQUALITY):
        return
    state = _contacts(model, pose)
    rows = (state.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY).nonzero()[0]
    for equality in np.flatnonzero(model.eq_active0):
        if model.eq_type[equality] in CLOSING:
            own = rows[state.efc_id[rows] == equality]
            violation = float(np.linalg.norm(state.efc_pos[own]))
            yield Loop(spot=spots.at("equality", int(equality)), violation=violation)


def _overlaps(model: Any, spots: ElementLines, pose: Pose) -> Iterator[Overlap]:
    for contact in _contacts(model, pose).contact:
        radii = [radius for radius in model.geom_rbound[contact.geom] if radius > 0]
        if contact.dist >= 0 or contact.exclude or not radii or min(contact.geom) < 0:
            continue
        yield Overlap(
            first=spots.at("geom", contact.geom[0]),
            second=spots.at("geom", contact.geom[1]),
            pose=pose.name,
            depth=-float(contact.dist),
            size=float(min(radii)),
            on_terrain=mujoco.mjtGeom.mjGEOM_HFIELD in model.geom_type[contact.geom],
        )


def _limit_violations(model: Any, spots: ElementLines, pose: Pose) -> Iterator[LimitViolation]:
    if is_disabled(model, FLAG.mjDSBL_LIMIT):
        return
    for joint in np.flatnonzero(model.jnt_limited):
        value = float(pose.qpos[model.jnt_qposadr[joint]])
        low, high = (float(end) for end in model.jnt_range[joint])
        if model.jnt_type[joint] in SCALAR_JOINTS and not low <= value <= high:
            yield LimitViolation(
                spot=spots.at("joint", int(joint)), pose=pose.name, value=value, low=low, high=high
            )


def _numeric(model: Any, name: str) -> int | None:
    index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_NUMERIC, name)
    if index < 0:
        return None
    value = int(model.numeric_data[model.numeric_adr[index]])
    return value if value >= 0 else None


def _hulls(model: Any, spots: ElementLines, pairs: list[tuple[int, int, int]]) -> Iterator[Hull]:
    geoms = {geom for first, second, _ in pairs for geom in (first, second)}
    meshes = {
        int(model.geom_dataid[geom]) for geom in geoms if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH
    }
    for mesh in sorted(meshes):
        graph = model.mesh_graphadr[mesh]
        # The graph begins with the number of vertices of the hull.
        vertices = model.mesh_graph[graph] if graph >= 0 else model.mesh_vertnum[mesh]
        yield Hull(spot=spots.at("mesh", mesh), vertices=int(vertices))
