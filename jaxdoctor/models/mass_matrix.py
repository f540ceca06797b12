"""The mass matrix as MJX builds it, with the factors of its product rounded to a few bits."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from jaxdoctor.facts.precision import F32, Precision, Rounding

Array = npt.NDArray[Any]

SMALLEST_MATRIX_PRODUCT = 100
"""XLA leaves a product of (m x k) by (k x n) to plain float32 below this (m + n) * k.

https://github.com/openxla/xla/blob/main/xla/debug_options_flags.cc, xla_gpu_gemm_rewrite_size_threshold
"""

SPARSE_FROM = 60
"""From so many degrees of freedom on, MJX builds the mass matrix row by row instead of as one product."""


def is_matrix_product(model: mujoco.MjModel) -> bool:
    """Whether MJX builds the mass matrix with a product that a GPU gives to its matrix units."""
    sparse = model.opt.jacobian == mujoco.mjtJacobian.mjJAC_SPARSE
    automatic = model.opt.jacobian == mujoco.mjtJacobian.mjJAC_AUTO
    if sparse or (automatic and model.nv >= SPARSE_FROM):
        return False
    return bool(2 * model.nv * 6 >= SMALLEST_MATRIX_PRODUCT)


def rounded(values: Array, precision: Precision) -> Array:
    """Float32 values with the mantissa bits that do not fit dropped; to nearest, ties go away from zero."""
    dropped = F32.mantissa_bits - precision.mantissa_bits
    values = np.ascontiguousarray(values, dtype=np.float32)
    if dropped <= 0:
        return values
    bits = values.view(np.uint32)
    if precision.rounding is Rounding.NEAREST:
        bits = bits + np.uint32(1 << (dropped - 1))
    mask = np.uint32(0xFFFFFFFF & ~((1 << dropped) - 1))
    return np.asarray(bits & mask, dtype=np.uint32).view(np.float32)


def factors(model: mujoco.MjModel, state: mujoco.MjData) -> tuple[Array, Array]:
    """The two nv x 6 factors, in float64, of the mass matrix at the state's positions.

    The state must have gone through `mj_fwdPosition`.
    """
    bodies = model.dof_bodyid
    momenta = np.empty((model.nv, 6))
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
