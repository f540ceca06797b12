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
