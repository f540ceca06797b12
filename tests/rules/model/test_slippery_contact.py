"""JD226: friction next to none."""

from tests.mjcf import BALL, findings, mjcf

RULE = "slippery-contact"


def touching(floor, ball, *, options=""):
    world = BALL.format(z=1).replace('name="floor"', f'name="floor" {floor}')
    return mjcf(world.replace('name="ball"', f'name="ball" {ball}'), options=options)


ICE = 'friction="0 0 0"'


def test_two_geoms_without_friction_are_named():
    (finding,) = findings(RULE, touching(ICE, ICE))

    assert finding.message == "geom floor and geom ball touch with condim 3 or more and friction 0"


def test_the_larger_friction_counts_unless_one_has_priority():
    assert findings(RULE, touching(ICE, "")) == []
    assert findings(RULE, touching(f'{ICE} priority="1"', ""))
    assert findings(RULE, touching(ICE, 'priority="1"')) == []


def test_a_contact_without_a_dimension_for_friction_is_healthy():
    frictionless = f'{ICE} condim="1"'

    assert findings(RULE, touching(frictionless, frictionless)) == []


def test_contacts_that_are_switched_off_and_usual_friction_are_healthy():
    off = '<option><flag contact="disable"/></option>'

    assert findings(RULE, touching(ICE, ICE, options=off)) == []
    assert findings(RULE, touching("", "")) == []
