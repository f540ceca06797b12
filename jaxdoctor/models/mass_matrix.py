"""The mass matrix as MJX builds it, with the factors of its product rounded to a few bits."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from jaxdoctor.facts.precision import F32, Precision, Rounding
from jaxdoctor.programs.matrix_units import runs_on_matrix_units
from jaxdoctor.programs.rounding import round_array

Array = npt.NDArray[Any]

SPATIAL = 6
"""Components of a spatial motion or momentum: the depth of the product."""

SPARSE_FROM = 60
"""From so many degrees of freedom on, MJX builds the mass matrix row by row instead of as one product."""


def is_matrix_product(model: mujoco.MjModel) -> bool:
    """Whether MJX builds the mass matrix with a product that a GPU gives to its matrix units."""
    sparse = model.opt.jacobian == mujoco.mjtJacobian.mjJAC_SPARSE
    automatic = model.opt.jacobian == mujoco.mjtJacobian.mjJAC_AUTO
    if sparse or (automatic and model.nv >= SPARSE_FROM):
        return False
    return runs_on_matrix_units(model.nv, model.nv, SPATIAL)


def rounded(values: Array, precision: Precision) -> Array:
    """The values in float32, with the mantissa bits dropped that do not fit."""
    bits = min(precision.mantissa_bits, F32.mantissa_bits)
    single = np.ascontiguousarray(values, dtype=np.float32)
    return round_array(single, bits, toward_zero=precision.rounding is Rounding.TOWARD_ZERO)


def factors(model: mujoco.MjModel, state: mujoco.MjData) -> tuple[Array, Array]:
    """The two nv x 6 factors, in float64, of the mass matrix at the state's positions.

    The state must have gone through `mj_fwdPosition`.
    """
    bodies = model.dof_bodyid
    momenta = np.empty((model.nv, SPATIAL))
    for dof, body in enumerate(bodies):
        momenta[dof] = _spatial_momentum(state.crb[body], state.cdof[dof])
    return momenta, state.cdof.copy()


def _spatial_momentum(inertia: Array, motion: Array) -> Array:
    """MuJoCo's packed inertia (6 of I, 3 of mass times offset, mass) times a motion vector."""
    xx, yy, zz, xy, xz, yz = inertia[:6]
    offset, mass = inertia[6:9], inertia[9]
    turn, shift = motion[:3], motion[3:]
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return np.concatenate([tensor @ turn + np.cross(offset, shift), mass * shift - np.cross(offset, turn)])


def matrix(model: mujoco.MjModel, momenta: Array, motions: Array, precision: Precision | None) -> Array:
    """The mass matrix of these factors: exact when `precision` is None, else as float32 hardware sums it."""
    if precision is None:
        product = momenta @ motions.T
    else:
        product = rounded(momenta, precision) @ rounded(motions, precision).T
    lower = np.tril(product) * _ancestry(model)
    full = lower + np.tril(lower, -1).T
    full[np.diag_indices(model.nv)] += model.dof_armature.astype(product.dtype)
    return np.asarray(full)


def _ancestry(model: mujoco.MjModel) -> Array:
    """Which pairs of degrees of freedom lie on one path to the root."""
    related = np.zeros((model.nv, model.nv), dtype=bool)
    for dof in range(model.nv):
        ancestor = dof
        while ancestor >= 0:
            related[dof, ancestor] = True
            ancestor = model.dof_parentid[ancestor]
    return related


def pivots(mass: Array) -> Array:
    """What is left of each diagonal entry when all later rows have been eliminated, in the matrix's dtype.

    Elimination goes from the last row to the first, as the product of a Cholesky factorization from the
    leaves of the kinematic tree does. A pivot that is not positive ends a Cholesky factorization.
    """
    left = mass.copy()
    for row in range(len(left) - 1, 0, -1):
        pivot = left[row, row]
        if not pivot > 0:
            break
        left[:row, :row] -= np.outer(left[row, :row], left[row, :row]) / pivot
    return np.diagonal(left).copy()


def is_positive_definite(mass: Array) -> bool:
    """Whether a Cholesky factorization in the matrix's own dtype succeeds."""
    try:
        np.linalg.cholesky(mass)
    except np.linalg.LinAlgError:
        return False
    return True
