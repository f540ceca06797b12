"""JD216: what MJX refuses."""

from tests.mjcf import BALL, findings, findings_in_file, mjcf

RULE = "unsupported-by-mjx"


def test_the_feature_and_its_line_are_named(tmp_path):
    text = mjcf(BALL.format(z=1), options='<option solver="PGS"/>')

    (finding,) = findings_in_file(RULE, text, tmp_path / "model.xml")

    assert finding.message == 'MJX does not take solver="PGS"'
    assert finding.location.line == 3


def test_newton_is_healthy():
    assert findings(RULE, mjcf(BALL.format(z=1))) == []


def test_many_that_are_refused_alike_are_one_line():
    world = "".join(
        f'<body name="b{n}" pos="{n} 0 9"><freejoint/><geom size="0.1"/></body>' for n in range(8)
    )
    feet = "".join(f'<adhesion name="stick{n}" body="b{n}" ctrlrange="0 1"/>' for n in range(8))

    (finding,) = findings(RULE, mjcf(world, after=f"<actuator>{feet}</actuator>"))

    assert finding.message == "MJX does not take actuator stick0 with transmission body (and 7 more)"
