"""JD234 on closed loops."""

from jaxdoctor.facts.closed_loop import Part
from jaxdoctor.rules.precision.policy_first import policy_first
from tests.loops import driven


def test_a_normaliser_that_is_first_not_finite_is_told():
    (finding,) = policy_first.judge(driven(16, part=Part.NORMALISER, magnitude=1.25, deviations=float("nan")))

    assert finding.message == (
        "the normaliser is first not finite, qLD at step 3, from a finite observation of magnitude 1.2"
    )


def test_an_observation_far_from_training_is_told_with_its_distance():
    (finding,) = policy_first.judge(driven(16, part=Part.OUTPUT, magnitude=1e4, deviations=310.0))

    assert finding.message.endswith("of magnitude 1e+04, 3.1e+02 standard deviations from what it knows")


def test_the_physics_first_is_not():
    assert not list(policy_first.judge(driven(16, part=Part.PHYSICS, magnitude=1.0)))
    assert not list(policy_first.judge(driven()))
