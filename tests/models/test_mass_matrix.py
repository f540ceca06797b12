"""The mass matrix of rounded factors is the one that MJX gets from them."""

import contextlib
import io

import mujoco
import numpy as np
import pytest

from jaxdoctor.facts.precision import BF16, F32, F64, TF32, TF32_TRUNCATED
from jaxdoctor.models.mass_matrix import factors, is_positive_definite, matrix, pivots, rounded
from jaxdoctor.models.scenario import scenario_path

with contextlib.redirect_stdout(io.StringIO()):
    from mujoco import mjx

MODELS = ["quadruped", "hand", "gimbal-wrist", "long-chain"]


def placed(name, seed=0):
    """A model and its state in a random pose."""
    model = mujoco.MjModel.from_xml_path(str(scenario_path(name)))
    state = mujoco.MjData(model)
    mujoco.mj_integratePos(model, state.qpos, np.random.default_rng(seed).normal(0, 0.3, model.nv), 1.0)
    mujoco.mj_fwdPosition(model, state)
    return model, state


@pytest.mark.parametrize("name", MODELS)
def test_without_rounding_it_is_mujocos(name):
    """MuJoCo's inverse times it is the identity."""
    model, state = placed(name)

    mass = matrix(model, *factors(model, state), None)

    columns = np.zeros((model.nv, model.nv))
    mujoco.mj_solveM(model, state, columns, mass)
    atol = np.linalg.cond(mass) * np.finfo(np.float64).eps * model.nv  # of solving with it
    np.testing.assert_allclose(columns, np.eye(model.nv), atol=atol)


@pytest.mark.parametrize("name", MODELS)
def test_rounded_it_is_what_mjx_builds_from_rounded_factors(name):
    """MJX's own make_m on the same rounded factors differs by the order of six float32 additions at most."""
    model, state = placed(name)
    momenta, motions = factors(model, state)

    ours = matrix(model, momenta, motions, TF32)

    left, right = rounded(momenta, TF32), rounded(motions, TF32)
    armature = model.dof_armature.astype(np.float32)
    theirs = np.asarray(mjx._src.support.make_m(mjx.put_model(model), left, right, armature))
    atol = 6 * np.finfo(np.float32).eps * np.max(np.abs(left) @ np.abs(right).T)
    np.testing.assert_allclose(ours, theirs, atol=atol)


def test_exact_halves_go_to_even():
    """As hardware rounds: 1 + 2^-11 lies halfway between two TF32 numbers, and so does 1 + 3 * 2^-11."""
    values = np.asarray([1 + 2**-11, 1 + 3 * 2**-11, -1 - 2**-11], np.float32)

    assert rounded(values, TF32).tolist() == [1, 1 + 2**-9, -1]


def test_wider_than_float32_is_float32():
    values = np.asarray([1 + 2**-23, np.pi])

    assert rounded(values, F64).tolist() == values.astype(np.float32).tolist()


def test_the_named_widths_keep_and_drop_the_lanes_that_tell_them_apart():
    values = np.asarray([1 + 2**-9, 1 + 3 * 2**-12, 1 + 2**-23], np.float32)

    assert rounded(values, F32).tolist() == values.tolist()
    assert rounded(values, TF32).tolist() == [1 + 2**-9, 1 + 2**-10, 1]
    assert rounded(values, TF32_TRUNCATED).tolist() == [1 + 2**-9, 1, 1]
    assert rounded(values, BF16).tolist() == [1, 1, 1]


def test_the_smallest_pivot_decides_whether_cholesky_succeeds():
    good = np.asarray([[2.0, 1.0], [1.0, 1.0]])
    bad = np.asarray([[1.0, 1.0], [1.0, 1.0]])

    assert pivots(good).tolist() == [1, 1]
    assert is_positive_definite(good)
    assert pivots(bad).tolist() == [0, 1]
    assert not is_positive_definite(bad)
