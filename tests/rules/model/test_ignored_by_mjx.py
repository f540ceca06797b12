"""JD217: what MJX passes over."""

from tests.mjcf import BALL, findings, findings_in_file, mjcf

RULE = "ignored-by-mjx"


def test_noslip_is_named_with_its_line(tmp_path):
    text = mjcf(BALL.format(z=1), options='<option noslip_iterations="5"/>')

    (finding,) = findings_in_file(RULE, text, tmp_path / "model.xml")

    assert finding.message == 'MJX passes over noslip_iterations="5"'
    assert finding.location.line == 3


def test_no_noslip_is_healthy():
    assert findings(RULE, mjcf(BALL.format(z=1))) == []
