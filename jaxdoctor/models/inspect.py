"""A model, judged before anything is replayed: MuJoCo only, no jax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

from jaxdoctor.facts.model import Distant, Hull, LimitViolation, Loop, Model, Overlap, Slippery
from jaxdoctor.models.compile import warnings_heard
from jaxdoctor.models.constraints import constraints, is_disabled
from jaxdoctor.models.contacts import geom_pairs, without_friction
from jaxdoctor.models.element_lines import ElementLines
from jaxdoctor.models.inertia import inertias, judged_mass_matrix
from jaxdoctor.models.mass_matrix import is_matrix_product
from jaxdoctor.models.mjx_ignored import ignored
from jaxdoctor.models.mjx_support import refused
from jaxdoctor.models.poses import Pose, poses, start_pose
from jaxdoctor.models.servos import SCALAR_JOINTS, self_driven, servos

RANDOM_POSES = 30
"""Random poses in which the mass matrix is looked at, besides qpos0 and the keyframes."""

# As numbers: a NumPy integer equals a constant of MuJoCo, but the constant does not equal it.
FLAG = mujoco.mjtDisableBit
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
        servos=tuple(servos(model, spots, _contacts(model, start))),
        self_driven=tuple(self_driven(model, spots)),
        distant=_distant(model, spots, start),
        slippery=tuple(
            Slippery(first=spots.at("geom", first), second=spots.at("geom", second), friction=friction)
            for first, second, friction in without_friction(model, pairs)
        ),
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


def _distant(model: Any, spots: ElementLines, pose: Pose) -> Distant | None:
    places = np.abs(_contacts(model, pose).xpos).max(axis=1)
    sizes = np.zeros(model.nbody)
    np.maximum.at(sizes, model.geom_bodyid, model.geom_rbound)
    moving = np.flatnonzero((model.body_weldid != 0) & (sizes > 0))
    if not len(moving):
        return None
    worst = int(moving[(places[moving] / sizes[moving]).argmax()])
    return Distant(spot=spots.at("body", worst), distance=float(places[worst]), size=float(sizes[worst]))


def _loops(model: Any, spots: ElementLines, pose: Pose) -> Iterator[Loop]:
    if is_disabled(model, FLAG.mjDSBL_EQUALITY):
        return
    state = _contacts(model, pose)
    rows = (state.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY).nonzero()[0]
    for equality in np.flatnonzero(model.eq_active0):
        if model.eq_type[equality] in CLOSING and not _follows_mocap(model, int(equality)):
            own = rows[state.efc_id[rows] == equality]
            violation = float(np.linalg.norm(state.efc_pos[own]))
            yield Loop(spot=spots.at("equality", int(equality)), violation=violation)


def _follows_mocap(model: Any, equality: int) -> bool:
    """Whether one side is a mocap body: it stands where the user's code puts it, so nothing is closed."""
    sides = (int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality]))
    if model.eq_objtype[equality] == mujoco.mjtObj.mjOBJ_SITE:
        sides = (int(model.site_bodyid[sides[0]]), int(model.site_bodyid[sides[1]]))
    return any(side >= 0 and model.body_mocapid[side] >= 0 for side in sides)


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
