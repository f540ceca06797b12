"""JD218: a tolerance for float64."""

from tests.mjcf import BALL, arm, findings, mjcf

RULE = "unreachable-tolerance"


def test_mujocos_defaults_are_for_float64():
    (finding,) = findings(RULE, mjcf(BALL.format(z=1)))

    assert finding.message == "tolerance 1e-08 is below 1e-06, and up to 100 iterations may be spent"


def test_few_iterations_a_float32_tolerance_and_nothing_to_solve_are_healthy():
    assert findings(RULE, mjcf(BALL.format(z=1), options='<option iterations="4"/>')) == []
    assert findings(RULE, mjcf(BALL.format(z=1), options='<option tolerance="1e-6"/>')) == []
    assert findings(RULE, mjcf(arm(2))) == []
