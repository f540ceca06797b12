"""JD220: geoms that start inside one another."""

from jaxdoctor.facts.finding import Severity
from tests.mjcf import BALL, findings, mjcf

RULE = "penetration-at-start"


def low(height):
    return f'<keyframe><key name="low" qpos="0 0 {height} 1 0 0 0"/></keyframe>'


def test_a_deep_start_is_a_warning():
    (finding,) = findings(RULE, mjcf(BALL.format(z=1), after=low(0.02)))

    assert finding.severity is Severity.WARNING
    assert finding.message == "geom floor and geom ball overlap by 0.08 m at keyframe low"


def test_a_model_that_states_no_start_gets_a_note():
    (finding,) = findings(RULE, mjcf(BALL.format(z=0.02)))

    assert finding.severity is Severity.NOTE
    assert finding.message == "geom floor and geom ball overlap by 0.08 m at qpos0"


def test_a_grain_inside_a_large_model_is_a_note():
    """A deep overlap for the geom, and none that moves anything."""
    pads = """<body pos="0 0 1"><freejoint/><geom name="pad" size="0.0008"/>
      <geom size="0.5" contype="0" conaffinity="0"/></body>
      <body pos="0.0011 0 1"><freejoint/><geom name="other" size="0.0008"/></body>"""
    key = '<keyframe><key qpos="0 0 1 1 0 0 0 0.0011 0 1 1 0 0 0"/></keyframe>'

    (finding,) = findings(RULE, mjcf(pads, after=key))

    assert finding.severity is Severity.NOTE


def test_a_shallower_one_is_a_note_and_a_keyframe_counts():
    """With keyframes, qpos0 is not where a replay starts; nor are the later ones."""
    later = low(0.08).replace("</keyframe>", '<key qpos="0 0 0 1 0 0 0"/></keyframe>')

    (finding,) = findings(RULE, mjcf(BALL.format(z=0.02), after=later))

    assert finding.severity is Severity.NOTE
    assert finding.evidence["pose"] == "keyframe low"


def test_resting_and_excluded_geoms_are_healthy():
    silent = '<option><flag contact="disable"/></option>'

    assert findings(RULE, mjcf(BALL.format(z=0.095))) == []
    assert findings(RULE, mjcf(BALL.format(z=0.02), options=silent)) == []
