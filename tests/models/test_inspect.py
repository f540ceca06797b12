"""Facts about models, and what the rules say of those that MJX ships."""

from importlib.util import find_spec
from pathlib import Path

import mujoco
import pytest

from jaxdoctor.errors import UnsupportedModelError
from jaxdoctor.facts.finding import Severity
from jaxdoctor.rollouts.inspected import inspect
from jaxdoctor.rules.diagnose import diagnose
from tests.mjcf import arm, fact, mjcf

SHIPPED = Path(find_spec("mujoco.mjx").submodule_search_locations[0]) / "test_data"
FILES = sorted(str(path.relative_to(SHIPPED)) for path in SHIPPED.rglob("*.xml"))
LARGE = [name for name in FILES if name.startswith("humanoid/") and name > "humanoid/04"]

WARNED = {
    "actuator/general_dyntype.xml": {
        "indefinite-mass-matrix"
    },  # two slides on one axis, nothing on the first
}
"""What is worth a warning in MJX's own test models, and why that is right."""


def lane(name):
    return pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name


@pytest.mark.parametrize("name", [lane(name) for name in FILES])
def test_what_mjx_ships_is_inspected_without_false_alarms(name, tmp_path, monkeypatch):
    """Every model gets its facts and at most notes, except where a warning is right; or one clear refusal."""
    monkeypatch.chdir(tmp_path)
    try:
        model = inspect(str(SHIPPED / name))
    except UnsupportedModelError as error:
        assert "MuJoCo refuses" in str(error)  # noqa: PT017 (some are for another MuJoCo than this one)
        return
    finally:
        assert not list(tmp_path.iterdir())

    loud = {finding.name for finding in diagnose([model]) if finding.severity > Severity.NOTE}

    assert model.refused == ()
    assert loud == WARNED.get(name, set())


def test_the_facts_are_mujocos():
    options = """<option timestep="0.003" integrator="RK4" solver="CG" iterations="7">
    <flag warmstart="disable"/></option>"""
    model = fact(mjcf(arm(3), options=options))

    assert (model.nq, model.nv, model.depth) == (3, 3, 3)
    assert (model.timestep, model.integrator, model.solver, model.iterations) == (0.003, "RK4", "CG", 7)
    assert model.disabled == ("warmstart",)
    assert [joint.spot.name for joint in model.joints] == ["hinge0", "hinge1", "hinge2"]


def test_the_same_seed_gives_the_same_facts():
    assert fact(mjcf(arm(10))) == fact(mjcf(arm(10)))


def test_an_unnamed_element_is_told_by_its_number():
    model = fact(mjcf('<body><joint/><geom size="1"/></body>'))

    assert str(model.joints[0].spot) == "joint #0"


def test_a_compiled_model_is_inspected_without_lines(tmp_path):
    path = tmp_path / "arm.mjb"
    mujoco.mj_saveModel(mujoco.MjModel.from_xml_string(mjcf(arm(2))), str(path))

    model = inspect(str(path))

    assert {joint.spot.line for joint in model.joints} == {None}
