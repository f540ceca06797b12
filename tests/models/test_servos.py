"""Actuators with feedback, reduced to the joint that they move."""

import pytest

from tests.mjcf import arm, fact, mjcf

SERVO = (
    """<actuator><position name="grip" joint="hinge0" kp="8" kv="0.5" gear="{gear}" {extra}/></actuator>"""
)


def model(*, gear=1, extra="", flag="gravity", integrator="Euler"):
    options = f'<option integrator="{integrator}"><flag {flag}="disable"/></option>'
    joint = 'damping="0.3" stiffness="2"'
    return fact(mjcf(arm(1, joint=joint), options=options, after=SERVO.format(gear=gear, extra=extra)))


def test_the_gear_acts_on_the_way_in_and_on_the_way_out():
    (servo,) = model(gear=3).servos

    assert servo.stiffness == pytest.approx(8 * 9 + 2)
    assert servo.explicit_damping == pytest.approx(0.5 * 9)
    assert servo.implicit_damping == pytest.approx(0.3)


def test_implicitfast_takes_all_damping_from_the_next_velocity():
    (servo,) = model(integrator="implicitfast").servos

    assert (servo.explicit_damping, servo.implicit_damping) == (0, pytest.approx(0.8))


def test_springs_and_dampers_that_are_switched_off_take_no_part():
    (without_spring,), (without_damper,) = model(flag="spring").servos, model(flag="damper").servos

    assert without_spring.stiffness == pytest.approx(8)
    assert without_damper.implicit_damping == 0


def test_an_actuator_whose_group_is_switched_off_is_none():
    assert model(extra='group="2"').servos
    after = SERVO.format(gear=1, extra='group="2"')
    off = mjcf(arm(1), options='<option actuatorgroupdisable="2"/>', after=after)
    assert fact(off).servos == ()
