"""What the poses of a model say about its inertia: the mass matrix as a whole, and joint by joint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

from jaxdoctor.facts.model import Joint, MassMatrix
from jaxdoctor.facts.precision import F32, TF32, TF32_TRUNCATED, Precision
from jaxdoctor.models.element_lines import ElementLines
from jaxdoctor.models.mass_matrix import Array, factors, is_positive_definite, matrix, pivots
from jaxdoctor.models.poses import Pose

NARROWEST = 4
"""Mantissa bits below which no accelerator multiplies."""

LARGEST = 300
"""With more degrees of freedom than this, only the first pose is factored: it takes nv cubed."""


def judged_mass_matrix(model: Any, chosen: list[Pose], *, is_product: bool) -> MassMatrix | None:
    """The mass matrix over the poses, at the widths that cards have and at every one below."""
    if not model.nv:
        return None
    chosen = _affordable(model, chosen)
    failures: dict[str, list[str]] = {F32.name: [], TF32.name: [], TF32_TRUNCATED.name: []}
    condition, required = 0.0, 0
    for pose in chosen:
        momenta, motions = _factors_at(model, pose)
        condition = max(condition, float(np.linalg.cond(matrix(model, momenta, motions, None))))
        for precision in (F32, TF32, TF32_TRUNCATED) if is_product else (F32,):
            if not is_positive_definite(matrix(model, momenta, motions, precision)):
                failures[precision.name].append(pose.name)
        required = max(required, _required(model, momenta, motions) if is_product else NARROWEST)
    return MassMatrix(
        poses=len(chosen),
        is_matrix_product=is_product,
        condition=condition,
        failures={name: tuple(names) for name, names in failures.items()},
        required_bits=None if failures[F32.name] else required,
    )


def _affordable(model: Any, chosen: list[Pose]) -> list[Pose]:
    return chosen if model.nv <= LARGEST else chosen[:1]


def _factors_at(model: Any, pose: Pose) -> tuple[Array, Array]:
    state = mujoco.MjData(model)
    state.qpos[:] = pose.qpos
    mujoco.mj_kinematics(model, state)
    mujoco.mj_comPos(model, state)
    mujoco.mj_crb(model, state)
    return factors(model, state)


def _required(model: Any, momenta: Array, motions: Array) -> int:
    """The smallest width from which on the matrix stays positive definite, rounding to nearest."""
    for bits in range(F32.mantissa_bits, NARROWEST - 1, -1):
        precision = Precision(name=str(bits), mantissa_bits=bits)
        if not is_positive_definite(matrix(model, momenta, motions, precision)):
            return bits + 1
    return NARROWEST


def inertias(model: Any, spots: ElementLines, chosen: list[Pose]) -> Iterator[Joint]:
    """Each joint in the pose that leaves it the smallest share of its inertia."""
    worst: list[tuple[float, float, float]] = [(np.inf, 0.0, 0.0)] * model.nv
    for pose in _affordable(model, chosen) if model.nv else ():
        mass = matrix(model, *_factors_at(model, pose), None)
        whole = np.diagonal(mass)
        for dof, (inertia, left) in enumerate(zip(whole, pivots(mass), strict=True)):
            share = left / inertia if inertia > 0 else 0.0
            if share < worst[dof][0]:
                worst[dof] = share, float(inertia), float(max(left, 0.0))
    for dof, (_, inertia, left) in enumerate(worst):
        yield Joint(
            spot=spots.at("joint", model.dof_jntid[dof]),
            armature=float(model.dof_armature[dof]),
            inertia=inertia,
            free_inertia=left,
        )


def felt_inertias(model: Any, pose: Pose) -> Array:
    """The diagonal of the mass matrix in a pose, by degree of freedom."""
    return np.diagonal(matrix(model, *_factors_at(model, pose), None)).copy()
