"""JD210: a mass matrix that rounding makes indefinite."""

from jaxdoctor.facts.finding import Severity
from tests.mjcf import arm, findings, mjcf

RULE = "indefinite-mass-matrix"


def twins(count, *, gap, joint=""):
    """Pairs of near-parallel hinges, `gap` apart, each with a long link behind it."""
    return "".join(
        f'<body pos="0 {number} 0"><joint axis="0 1 0.02" {joint}/><geom size="0.004" mass="1e-3"/>'
        f'<body pos="{gap} 0 0"><joint axis="0.01 1 0" {joint}/>'
        f'<geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.01" mass="0.3"/></body></body>'
        for number in range(count)
    )


def test_hinges_close_together_do_not_survive_tf32():
    (finding,) = findings(RULE, mjcf(twins(6, gap=0.002)))

    assert finding.code == "JD210"
    assert finding.severity is Severity.WARNING
    assert "its factors are" in finding.message
    assert finding.evidence["failed"]["f32"] == 0
    assert 11 <= finding.evidence["required_bits"] <= 16


def test_hinges_on_one_axis_do_not_survive_float32():
    """Two slides along one axis, of which the first carries nothing: no precision helps."""
    world = '<body><joint type="slide"/><joint type="slide"/><geom size="0.1"/></body>'

    (finding,) = findings(RULE, mjcf(world))

    assert finding.severity is Severity.ERROR
    assert "built in float32, first at qpos0" in finding.message
    assert finding.evidence["required_bits"] is None
    assert "no precision is enough" in finding.fix


def test_hinges_far_apart_or_with_armature_are_healthy():
    assert findings(RULE, mjcf(twins(6, gap=0.1))) == []
    assert findings(RULE, mjcf(twins(6, gap=0.002, joint='armature="1e-3"'))) == []
    assert findings(RULE, mjcf(arm(12))) == []


def test_few_joints_never_reach_the_matrix_units():
    """Two hinges make a product that XLA computes in float32, however bad the matrix."""
    assert findings(RULE, mjcf(twins(1, gap=0.002))) == []


def test_a_model_that_does_not_move_has_no_mass_matrix():
    assert findings(RULE, mjcf('<geom size="1"/>')) == []
