"""JD214: caps on contacts."""

from jaxdoctor.facts.finding import Severity
from tests.mjcf import findings, mjcf

RULE = "dropped-contacts"
BALLS = '<geom type="plane" size="1 1 1"/>' + "".join(
    f'<body pos="{number} 0 {{z}}"><freejoint/><geom size="0.1"/></body>' for number in range(3)
)


def capped(name, value, z=1):
    return mjcf(BALLS.format(z=z), after=f'<custom><numeric name="{name}" data="{value}"/></custom>')


def test_a_cap_below_the_pairs_is_a_note():
    """Three balls and a floor make six pairs."""
    (finding,) = findings(RULE, capped("max_contact_points", 2))

    assert finding.severity is Severity.NOTE
    assert finding.message == "MJX keeps 2 contacts of 6 pairs that can touch"


def test_a_cap_below_the_start_is_a_warning():
    (finding,) = findings(RULE, capped("max_contact_points", 2, z=0.09))

    assert finding.severity is Severity.WARNING
    assert "a start pose has 3" in finding.message


def test_a_cap_on_pairs_is_a_note():
    (finding,) = findings(RULE, capped("max_geom_pairs", 2))

    assert finding.message == "MJX looks at the nearest 2 of up to 6 pairs of geoms"


def test_large_caps_and_none_are_healthy():
    assert findings(RULE, capped("max_contact_points", 6)) == []
    assert findings(RULE, capped("something_else", 2)) == []
