"""What can constrain a model, and how softly."""

import mujoco

from jaxdoctor.models.constraints import constraints
from jaxdoctor.models.contacts import geom_pairs
from jaxdoctor.models.element_lines import ElementLines
from tests.mjcf import BALL, arm, mjcf

TENDON = """<tendon><fixed name="cable" limited="true" range="-1 1" solreflimit="0.05 1" frictionloss="1"
  solreffriction="0.07 1"><joint joint="hinge0" coef="1"/></fixed></tendon>"""


def softened(xml):
    model = mujoco.MjModel.from_xml_string(xml)
    found = constraints(model, ElementLines(model, "model.xml"), list(geom_pairs(model)))
    return [(str(one.spot), one.solref[0]) for one in found]


def test_limits_friction_loss_and_contacts_each_have_their_softness():
    joint = 'range="-1 1" limited="true" solreflimit="0.03 1" frictionloss="2" solreffriction="0.04 1"'

    found = softened(mjcf(arm(1, joint=joint) + BALL.format(z=9), after=TENDON))

    assert found == [
        ("joint hinge0", 0.03),
        ("tendon cable", 0.05),
        ("geom floor", 0.02),
        ("geom ball", 0.02),
        ("joint hinge0", 0.04),
        ("tendon cable", 0.07),
    ]


def test_what_a_flag_switches_off_is_left_out():
    off = '<option><flag contact="disable" limit="disable"/></option>'

    assert softened(mjcf(arm(1) + BALL.format(z=9), after=TENDON, options=off)) == [("tendon cable", 0.07)]


def test_an_equality_that_is_not_active_holds_nothing():
    weld = '<equality><weld body1="hand" active="false"/></equality>'
    hand = '<body name="hand"><freejoint/><geom size="0.1"/></body>'

    assert softened(mjcf(hand, after=weld)) == []
