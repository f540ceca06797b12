"""JD221: joints that start outside their range."""

from jaxdoctor.facts.finding import Severity
from tests.mjcf import arm, findings, mjcf

RULE = "limit-violated-at-start"


def ranged(span, after=""):
    return mjcf(arm(1, joint=f'range="{span}" limited="true"'), after=after)


def test_a_range_that_leaves_out_the_start_is_a_warning():
    (finding,) = findings(RULE, ranged("0.5 1.5"))

    assert finding.severity is Severity.WARNING
    assert finding.message == "joint hinge0 stands at 0 at qpos0, outside 0.5 to 1.5"


def test_a_little_outside_is_a_note():
    (finding,) = findings(RULE, ranged("0.05 1.05"))

    assert finding.severity is Severity.NOTE


def test_inside_and_on_the_edge_are_healthy():
    key = '<keyframe><key qpos="1"/></keyframe>'

    assert findings(RULE, ranged("-1 1")) == []
    assert findings(RULE, ranged("0.005 1.005")) == []
    assert findings(RULE, ranged("0.5 1.5", key)) == []
