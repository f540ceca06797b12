"""JD221: joints that start outside their range."""

from jaxdoctor.facts.finding import Severity
from tests.mjcf import arm, findings, mjcf

RULE = "limit-violated-at-start"


def ranged(span, after=""):
    return mjcf(arm(1, joint=f'range="{span}" limited="true"'), after=after)


def keyframe(value):
    return f'<keyframe><key name="home" qpos="{value}"/></keyframe>'


def test_a_keyframe_that_lies_outside_is_a_warning():
    (finding,) = findings(RULE, ranged("0.5 1.5", keyframe(0)))

    assert finding.severity is Severity.WARNING
    assert finding.message == "joint hinge0 starts at 0 (keyframe home), outside its range 0.5..1.5"
    assert finding.fix == "correct keyframe home or the range"


def test_a_little_outside_is_a_note():
    (finding,) = findings(RULE, ranged("0.05 1.05", keyframe(0)))

    assert finding.severity is Severity.NOTE


def test_a_model_that_states_no_start_gets_a_note():
    """Where its user starts it need not stand in the file."""
    (finding,) = findings(RULE, ranged("0.5 1.5"))

    assert finding.severity is Severity.NOTE
    assert "keyframe" in finding.fix


def test_only_the_pose_that_is_replayed_counts():
    later = '<keyframe><key name="home" qpos="1"/><key name="park" qpos="0"/></keyframe>'
    brax = '<custom><numeric name="init_qpos" data="{}"/></custom>'

    assert findings(RULE, ranged("0.5 1.5", later)) == []
    assert findings(RULE, ranged("0.5 1.5", brax.format(1))) == []
    (finding,) = findings(RULE, ranged("0.5 1.5", brax.format(3)))
    assert finding.message == "joint hinge0 starts at 3 (init_qpos), outside its range 0.5..1.5"


def test_inside_and_on_the_edge_are_healthy():
    key = '<keyframe><key qpos="1"/></keyframe>'

    assert findings(RULE, ranged("-1 1")) == []
    assert findings(RULE, ranged("0.005 1.005")) == []
    assert findings(RULE, ranged("0.5 1.5", key)) == []


def test_limits_that_are_switched_off_hold_nothing():
    off = '<option><flag limit="disable"/></option>'

    assert findings(RULE, mjcf(arm(1, joint='range="0.5 1.5"'), options=off, after=keyframe(0))) == []
