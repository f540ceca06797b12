"""What MJX takes with a model and does not act on."""

import pytest

from tests.mjcf import arm, fact, mjcf

MOTOR = '<actuator><motor name="lift" joint="hinge0" {}/></actuator>'
FILTER = '<actuator><general name="lift" joint="hinge0" dyntype="filter" dynprm=".1" {}/></actuator>'
CABLE = '<tendon><fixed name="cable" {}><joint joint="hinge0" coef="1"/></fixed></tendon>'
BOARD = '<body><freejoint/><geom name="board" type="box" size=".1 .1 .01" {}/></body>'


def ignored(world, **parts):
    return [feature.what for feature in fact(mjcf(world, **parts)).ignored]


@pytest.mark.parametrize(
    ("world", "parts", "what"),
    [
        (arm(1, joint='damping="0.1 0.5"'), {}, "joint hinge0 with damping that is a polynomial"),
        (arm(1, joint='stiffness="1 5"'), {}, "joint hinge0 with stiffness that is a polynomial"),
        (arm(1), {"after": CABLE.format('damping="1 2"')}, "tendon cable with damping that is a polynomial"),
        (arm(1), {"after": MOTOR.format('damping="1"')}, "actuator lift with damping"),
        (arm(1), {"after": MOTOR.format('armature="1"')}, "actuator lift with armature"),
        (arm(1), {"after": MOTOR.format('nsample="5" delay=".01"')}, "actuator lift with delay"),
        (arm(1), {"after": FILTER.format('actearly="true"')}, 'actuator lift with actearly="true"'),
        (
            arm(1),
            {"after": MOTOR.format('group="2"'), "options": '<option actuatorgroupdisable="2"/>'},
            "actuator lift of a group that actuatorgroupdisable switches off",
        ),
        (
            BOARD.format('fluidshape="ellipsoid"'),
            {"options": '<option density="1.2"/>'},
            'geom board with fluidshape="ellipsoid"',
        ),
    ],
)
def test_each_is_named_by_its_element(world, parts, what):
    assert ignored(world, **parts) == [what]


def test_what_acts_on_nothing_is_not_named():
    """A shape in no fluid, `actearly` without dynamics, a group that is on."""
    assert ignored(BOARD.format('fluidshape="ellipsoid"')) == []
    assert ignored(arm(1, joint='damping="0.1" stiffness="2"'), after=MOTOR.format('group="2"')) == []
    direct = '<actuator><general joint="hinge0" actearly="true"/></actuator>'
    assert ignored(arm(1), after=direct) == []


def test_elements_that_are_passed_over_alike_are_one_feature():
    (what,) = ignored(arm(3, joint='stiffness="1 5"'))

    assert what == "joint hinge0 with stiffness that is a polynomial (and 2 more)"
