"""JD220: geoms that start inside one another."""

from jaxdoctor.facts.finding import Severity
from tests.mjcf import BALL, findings, mjcf

RULE = "penetration-at-start"


def test_a_deep_start_is_a_warning():
    (finding,) = findings(RULE, mjcf(BALL.format(z=0.02)))

    assert finding.severity is Severity.WARNING
    assert finding.message == "geom floor and geom ball overlap by 0.08 m at qpos0"


def test_a_shallower_one_is_a_note_and_a_keyframe_counts():
    """With keyframes, qpos0 is not where a replay starts."""
    key = '<keyframe><key name="low" qpos="0 0 0.08 1 0 0 0"/></keyframe>'

    (finding,) = findings(RULE, mjcf(BALL.format(z=0.02), after=key))

    assert finding.severity is Severity.NOTE
    assert finding.evidence["pose"] == "keyframe low"


def test_resting_and_excluded_geoms_are_healthy():
    silent = '<option><flag contact="disable"/></option>'

    assert findings(RULE, mjcf(BALL.format(z=0.095))) == []
    assert findings(RULE, mjcf(BALL.format(z=0.02), options=silent)) == []
