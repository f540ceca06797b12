"""JD219: impratio under the wrong cone."""

from jaxdoctor.facts.finding import Severity
from tests.mjcf import BALL, arm, findings, mjcf

RULE = "impratio-with-pyramidal-cone"


FLOOR_AND_BALL = BALL.format(z=1)


def slippery(impratio, cone, world=FLOOR_AND_BALL):
    return mjcf(world, options=f'<option impratio="{impratio}" cone="{cone}"/>')


def test_the_pyramidal_cone_is_named():
    (finding,) = findings(RULE, slippery(10, "pyramidal"))

    assert finding.severity is Severity.NOTE
    assert finding.message == 'impratio 10 acts as meant under cone="elliptic" only'


def test_a_large_one_is_a_warning():
    (finding,) = findings(RULE, slippery(100, "pyramidal"))

    assert finding.severity is Severity.WARNING


def test_elliptic_one_and_nothing_that_touches_are_healthy():
    assert findings(RULE, slippery(10, "elliptic")) == []
    assert findings(RULE, slippery(1, "pyramidal")) == []
    assert findings(RULE, slippery(10, "pyramidal", arm(2))) == []
