"""JD225: velocity feedback of the wrong sign."""

from jaxdoctor.facts.finding import Severity
from tests.mjcf import arm, findings, findings_in_file, mjcf

RULE = "self-driven-servo"


def servo(bias, *, target='joint="hinge0"', gear=1, extra="", options=""):
    after = f"""<actuator>
      <general name="swing" {target} gear="{gear}" biastype="affine" biasprm="{bias}" {extra}/></actuator>"""
    cable = '<tendon><fixed name="cable" damping="0.5"><joint joint="hinge0" coef="1"/></fixed></tendon>'
    return mjcf(arm(1, joint='damping="0.3"'), after=cable + after, options=options)


def test_feedback_along_the_velocity_is_named_with_its_line(tmp_path):
    (finding,) = findings_in_file(RULE, servo("0 0 1.2"), tmp_path / "model.xml")

    assert finding.location.line == 9
    assert finding.message == (
        "actuator swing pushes joint hinge0 along its velocity with 1.2 per unit of speed, "
        "and its damping takes 0.3"
    )


def test_a_gear_acts_twice_and_a_tendon_brakes_by_its_own_damping():
    assert findings(RULE, servo("0 0 0.2", gear=2))
    assert findings(RULE, servo("0 0 0.6", target='tendon="cable"'))
    assert findings(RULE, servo("0 0 0.4", target='tendon="cable"')) == []


def test_what_damping_outweighs_and_what_brakes_are_healthy():
    assert findings(RULE, servo("0 0 0.2")) == []
    assert findings(RULE, servo("0 -10 -1.2")) == []


def test_actuators_that_are_switched_off_drive_nothing():
    off = '<option><flag actuation="disable"/></option>'

    assert findings(RULE, servo("0 0 1.2", options=off)) == []
    group = '<option actuatorgroupdisable="3"/>'
    assert findings(RULE, servo("0 0 1.2", extra='group="3"', options=group)) == []


def test_a_limit_of_force_makes_it_a_note():
    limited = servo("0 0 1.2", extra='forcerange="-1 1"')

    assert [found.severity for found in findings(RULE, limited)] == [Severity.NOTE]
    assert [found.severity for found in findings(RULE, servo("0 0 1.2"))] == [Severity.WARNING]
