"""MJX is built in its implementation in JAX, whatever the environment would choose."""

import contextlib
import inspect
import io
import re

import mujoco
import pytest

from jaxdoctor.models.mjx_model import mjx_pair

with contextlib.redirect_stdout(io.StringIO()):
    from mujoco import mjx

HINGE = "<mujoco><worldbody><body><joint type='hinge'/><geom size='1'/></body></worldbody></mujoco>"


def test_the_pair_is_jax_s_and_steps(monkeypatch):
    monkeypatch.setenv("MJX_GPU_DEFAULT_WARP", "true")

    parameters, blank = mjx_pair(mujoco.MjModel.from_xml_string(HINGE))

    # mujoco-mjx 3.3.3 calls it `backend_impl`.
    impls = {(getattr(each, "impl", None) or each.backend_impl).value for each in (parameters, blank)}
    assert impls == {"jax"}
    assert blank.qpos.shape == (1,)


@pytest.mark.parametrize("name", ["impl", "backend_impl"])
def test_the_implementation_is_named_as_each_mjx_calls_it(monkeypatch, name):
    """Up to mujoco-mjx 3.3.3 the argument is `backend_impl`."""
    asked = []

    def put_model(model, device=None, impl=None): ...
    def put_model_once(model, device=None, backend_impl=None): ...

    signature = put_model if name == "impl" else put_model_once

    def recorded(function):
        def call(model, **named):
            asked.append(named)

        call.__signature__ = inspect.signature(function)
        return call

    monkeypatch.setattr(mjx, "put_model", recorded(signature))
    monkeypatch.setattr(mjx, "make_data", recorded(signature))

    mjx_pair(mujoco.MjModel.from_xml_string(HINGE))

    assert asked == [{name: "jax"}] * 2


def test_nothing_builds_mjx_without_naming_it():
    from jaxdoctor.models import mjx_model
    from tests.paths import ROOT

    home = mjx_model.__file__
    others = [
        str(file)
        for file in (ROOT / "jaxdoctor").rglob("*.py")
        if str(file) != home and re.search(r"mjx\.(put_model|make_data)\((?![^\n]*impl=)", file.read_text())
    ]

    assert others == []
