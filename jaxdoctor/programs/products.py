"""Which products of a traced program a GPU would run on its matrix units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core

from jaxdoctor.programs.matrix_units import runs_on_matrix_units

FULL_PRECISION_ALGORITHMS = {"F32_F32_F32", "F64_F64_F64", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9"}
"""The names of `jax.lax.DotAlgorithmPreset` that keep 23 mantissa bits of float32 operands."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """One line of somebody's code whose products a GPU would run on its matrix units."""

    place: str
    """"mujoco/mjx/_src/support.py:162 (make_m)"."""

    explicit: bool
    """It names a precision of its own, which `jax_default_matmul_precision` does not reach."""


PRODUCTS = ("dot_general", "conv_general_dilated")


def is_product(eqn: core.JaxprEqn) -> bool:
    """Whether it multiplies two arrays, at whatever precision."""
    return eqn.primitive.name in PRODUCTS


def is_matrix_product(eqn: core.JaxprEqn) -> bool:
    """Whether XLA would give this equation to a GPU's matrix units."""
    if not is_float32_product(eqn):
        return False
    if eqn.primitive.name == "conv_general_dilated":
        return True
    return runs_on_matrix_units(*product_size(eqn))


def is_float32_product(eqn: core.JaxprEqn) -> bool:
    """Whether it multiplies float32 with float32 and leaves the precision to a setting."""
    if not is_product(eqn):
        return False
    if any(_aval(variable).dtype != jnp.float32 for variable in eqn.invars):
        return False
    return not _at_full_precision(eqn.params["precision"])


def product_size(eqn: core.JaxprEqn) -> tuple[int, int, int]:
    """The m, n and k of a `dot_general` without its batch dimensions."""
    (left_sum, right_sum), (left_batch, right_batch) = eqn.params["dimension_numbers"]
    left, right = (_aval(variable).shape for variable in eqn.invars)
    depth = math.prod(left[axis] for axis in left_sum)
    rows = math.prod(size for axis, size in enumerate(left) if axis not in {*left_sum, *left_batch})
    columns = math.prod(size for axis, size in enumerate(right) if axis not in {*right_sum, *right_batch})
    return rows, columns, depth


def product_flops(eqn: core.JaxprEqn) -> float:
    """The multiplications and additions of a product: two for each pair of numbers that meet."""
    out = math.prod(_aval(eqn.outvars[0]).shape)
    if eqn.primitive.name == "dot_general":
        (left_sum, _), _ = eqn.params["dimension_numbers"]
        met = math.prod(_aval(eqn.invars[0]).shape[axis] for axis in left_sum)
    else:
        kernel = _aval(eqn.invars[1]).shape
        met = math.prod(kernel) // kernel[eqn.params["dimension_numbers"].rhs_spec[0]]
    return float(2 * out * met)


def _at_full_precision(precision: Any) -> bool:
    """HIGHEST on one operand is enough, for XLA takes the higher of the two."""
    if isinstance(precision, tuple):
        return any(_at_full_precision(operand) for operand in precision)
    if isinstance(precision, jax.lax.DotAlgorithmPreset):
        return precision.name in FULL_PRECISION_ALGORITHMS
    return precision is jax.lax.Precision.HIGHEST


def _aval(variable: Any) -> Any:
    return variable.aval


def names_a_precision(eqn: core.JaxprEqn) -> bool:
    """Whether the equation was given a precision of its own, other than DEFAULT."""
    precision = eqn.params["precision"]
    operands = precision if isinstance(precision, tuple) else (precision,)
    return any(operand not in (None, jax.lax.Precision.DEFAULT) for operand in operands)
