"""What MJX refuses, told without it and by it."""

import contextlib
import io

import mujoco
import numpy as np
import pytest

from jaxdoctor.errors import UnsupportedModelError
from jaxdoctor.models import mjx_support
from jaxdoctor.models.contacts import geom_pairs
from jaxdoctor.models.element_lines import ElementLines
from jaxdoctor.models.mjx_support import mjx_refusals, try_mjx
from tests.mjcf import BALL, arm, mjcf

BODIES = "".join(
    f'<body pos="{number} 0 3"><freejoint/><geom name="{kind}" type="{kind}" size="0.1 0.1 0.1"/></body>'
    for number, kind in enumerate(("box", "cylinder"))
)


def with_sensor(sensor):
    return mjcf(arm(1), after=f"<sensor>\n    {sensor}\n  </sensor>")


REFUSED = {
    "integrator": (mjcf(arm(1), options='<option integrator="implicit"/>'), 'integrator="implicit"', 3),
    "discrete": (mjcf(arm(1), options='<option integrator="discrete"/>'), 'integrator="discrete"', 3),
    "solver": (mjcf(arm(1), options='<option solver="PGS"/>'), 'solver="PGS"', 3),
    "flag": (mjcf(arm(1), options='<option>\n<flag energy="enable"/></option>'), 'flag energy="enable"', 4),
    "drag": (
        mjcf(arm(1), options='<option integrator="implicitfast" density="1"/>'),
        'integrator="implicitfast" together with density',
        3,
    ),
    "pair": (mjcf(BODIES), "contact between cylinder and box (geom cylinder and geom box)", 6),
    "condim": (
        mjcf(BALL.format(z=1), options='<option cone="elliptic"/>', defaults='<geom condim="1"/>'),
        'condim="1" under cone="elliptic"',
        None,
    ),
    "sensor": (with_sensor('<user name="mine" dim="1"/>'), "sensor mine with type user", None),
    "joint limit sensor": (
        with_sensor('<jointlimitpos name="stop" joint="hinge0"/>').replace(
            'name="hinge0"', 'name="hinge0" range="-1 1"'
        ),
        "sensor stop with type jointlimitpos",
        9,
    ),
    "actuator": (
        mjcf(
            '<body name="cart"><joint axis="1 0 0" type="slide"/><geom size="1"/></body>',
            after='<actuator>\n<adhesion name="stick" body="cart" ctrlrange="0 1"/></actuator>',
        ),
        "actuator stick with transmission body",
        9,
    ),
    "contact sensor": (
        with_sensor('<contact name="c" body1="link"/>').replace("<body", '<body name="link"', 1),
        "sensor c that matches contacts by body or subtree",
        9,
    ),
}


@pytest.fixture(autouse=True, scope="module")
def quiet_import():
    with contextlib.redirect_stdout(io.StringIO()):
        from mujoco import mjx  # noqa: F401


@pytest.mark.parametrize("case", REFUSED)
def test_what_mjx_refuses_is_named_with_its_line(tmp_path, case):
    """MJX itself refuses, and the error says what and where."""
    text, what, line = REFUSED[case]
    path = tmp_path / "model.xml"
    path.write_text(text)
    model = mujoco.MjModel.from_xml_path(str(path))

    with pytest.raises(UnsupportedModelError) as caught:
        try_mjx(model, str(path))

    assert what in str(caught.value)
    if line is not None:
        assert str(caught.value).endswith(f"({path}, line {line})")
    assert "unsupported-by-mjx" in caught.value.hint


def test_what_no_table_knows_is_told_in_mjxs_words():
    model = mujoco.MjModel.from_xml_string(mjcf(arm(1)))

    said = r"MJX does not take robot\.mjb: time travel"
    with pytest.raises(UnsupportedModelError, match=said), mjx_refusals(model, "robot.mjb"):
        raise NotImplementedError("time travel")


def test_the_tables_are_those_of_the_installed_mjx():
    """A newer MJX that takes more shows here first."""
    from mujoco.mjx._src import types

    for table, kind in (
        (mjx_support.SENSORS, types.SensorType),
        (mjx_support.EQUALITIES, types.EqType),
        (mjx_support.TRANSMISSIONS, types.TrnType),
        (mjx_support.DYNAMICS, types.DynType),
        (mjx_support.GAINS, types.GainType),
        (mjx_support.BIASES, types.BiasType),
        (mjx_support.SOLVERS, types.SolverType),
    ):
        assert table == {member.name for member in kind}
    assert {flag.name for flag in types.EnableBit} == mjx_support.ENABLE_FLAGS


def test_the_table_of_colliding_types_is_that_of_the_installed_mjx():
    from mujoco.mjx._src.collision_driver import has_collision_fn
    from mujoco.mjx._src.types import GeomType

    for one in GeomType:
        for other in GeomType:
            known = frozenset({mujoco.mjtGeom(one), mujoco.mjtGeom(other)}) in mjx_support.PAIRS
            assert known == (has_collision_fn(one, other) or has_collision_fn(other, one))


@pytest.mark.parametrize("file", ["humanoid/03_humanoids.xml", "shadow_hand/scene_right.xml", "convex.xml"])
def test_the_same_geoms_may_touch_as_in_mjx(file):
    from mujoco import mjx
    from mujoco.mjx._src.collision_driver import geom_pairs as theirs

    folder = mjx.__path__[0]
    model = mujoco.MjModel.from_xml_path(f"{folder}/test_data/{file}")

    ours = sorted((int(a), int(b), int(c)) for a, b, c in geom_pairs(model))

    assert {(frozenset(pair[:2]), pair[2]) for pair in ours} == {
        (frozenset((int(a), int(b))), int(c)) for a, b, c in theirs(model)
    }
    assert len(ours) == len(set(ours))


def test_lines_are_not_guessed_where_files_include_one_another(tmp_path):
    """MuJoCo tells the line, and not of which file."""
    (tmp_path / "part.xml").write_text(f"<mujoco><worldbody>{arm(1)}</worldbody></mujoco>")
    path = tmp_path / "whole.xml"
    path.write_text('<mujoco>\n<include file="part.xml"/></mujoco>')
    model = mujoco.MjModel.from_xml_path(str(path))

    spot = ElementLines(model, str(path)).at("joint", 0)

    assert spot.name == "hinge0"
    assert spot.line is None
    assert np.all(model.nv == 1)


def test_geoms_without_names_are_found_by_their_lines(tmp_path):
    path = tmp_path / "model.xml"
    text = mjcf(BODIES)
    for kind in ("box", "cylinder"):
        text = text.replace(f'name="{kind}" ', "")
    path.write_text(text.replace("</body><body", "</body>\n<body"))
    model = mujoco.MjModel.from_xml_path(str(path))

    with pytest.raises(UnsupportedModelError) as caught:
        try_mjx(model, str(path))

    assert "contact between cylinder and box (geom on line 7 and geom on line 6)" in str(caught.value)
