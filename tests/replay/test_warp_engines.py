"""Which Warp steps the model, told without warp-lang."""

import contextlib
import io
import sys
import types

import mujoco
import numpy as np
import pytest

from jaxdoctor.errors import MissingPackageError, UnsupportedModelError
from jaxdoctor.replay.warp_engines import FIELDS, OfPackage, warp_engine
from tests.mjcf import arm, mjcf


@pytest.fixture
def model():
    return mujoco.MjModel.from_xml_string(mjcf(arm(1), after='<actuator><motor joint="hinge0"/></actuator>'))


@pytest.fixture
def mjx(monkeypatch):
    """MJX without Warp."""
    with contextlib.redirect_stdout(io.StringIO()):
        from mujoco import mjx

    def refuses(*_, **__):
        raise RuntimeError("Warp is not installed.")

    monkeypatch.setattr(mjx, "put_model", refuses)
    return mjx


class Array:
    """An array of Warp's: replays x size."""

    def __init__(self, replays, size):
        self.values = np.zeros((replays, size), np.float32)

    def assign(self, values):
        assert values.dtype == np.float32
        self.values[:] = values

    def numpy(self):
        return self.values


class Data:
    """A world for each replay."""

    def __init__(self, model, worlds):
        blank = mujoco.MjData(model)
        for name in (*FIELDS, "ctrl"):
            setattr(self, name, Array(worlds, len(getattr(blank, name))))


def step_in_c(model, data):
    one = mujoco.MjData(model)
    for world in range(len(data.qpos.values)):
        mujoco.mj_resetData(model, one)
        for name in ("qpos", "qvel", "ctrl"):
            getattr(one, name)[:] = getattr(data, name).values[world]
        mujoco.mj_step(model, one)
        for name in FIELDS:
            getattr(data, name).values[world] = getattr(one, name)


@pytest.fixture
def package(monkeypatch):
    """A package mujoco_warp that steps each world in C."""
    asked = {}

    def make_data(model, nworld=1, nconmax=None, njmax=None, naconmax=None):
        asked.update(nworld=nworld, nconmax=nconmax, njmax=njmax, naconmax=naconmax)
        return Data(model, nworld)

    module = types.ModuleType("mujoco_warp")
    module.put_model, module.make_data, module.step = lambda model: model, make_data, step_in_c
    monkeypatch.setitem(sys.modules, "mujoco_warp", module)
    return asked


def test_the_package_steps_every_replay_where_mjx_has_no_warp(model, mjx, package):
    engine = warp_engine(model, 2, 64, 32)

    state = {"qpos": np.array([[0.1], [0.2]]), "qvel": np.zeros((2, 1))}
    after = engine.step(
        {**state, "act": np.zeros((2, 0)), "qacc_warmstart": np.zeros((2, 1))}, np.ones((2, 1))
    )

    assert isinstance(engine, OfPackage)
    assert package == {"nworld": 2, "nconmax": None, "njmax": 32, "naconmax": 128}
    data = mujoco.MjData(model)
    data.qpos[:], data.ctrl[:] = 0.2, 1
    mujoco.mj_step(model, data)
    np.testing.assert_allclose(after["qpos"][1], data.qpos, rtol=1e-6)


def test_without_both_the_package_to_install_is_named(model, mjx, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco_warp", None)

    with pytest.raises(MissingPackageError, match="mujoco-mjx"):
        warp_engine(model, 2, 64, 64)


@pytest.mark.parametrize("who", ["mjx", "package"])
def test_a_model_that_warp_does_not_take_is_refused(model, mjx, package, monkeypatch, who):
    def refuses(*_, **__):
        raise NotImplementedError("noslip")

    monkeypatch.setattr(mjx if who == "mjx" else sys.modules["mujoco_warp"], "put_model", refuses)

    with pytest.raises(UnsupportedModelError, match="noslip"):
        warp_engine(model, 2, 64, 64)
