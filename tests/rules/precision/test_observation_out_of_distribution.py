"""JD235 on closed loops."""

from jaxdoctor.facts.closed_loop import Episodes
from jaxdoctor.rules.precision.observation_out_of_distribution import observation_out_of_distribution
from tests.loops import driven


def test_an_observation_that_training_never_saw_is_told():
    (finding,) = observation_out_of_distribution.judge(driven(full=Episodes(ended=0, farthest=4321.0)))

    assert finding.message == "an observation is 4.3e+03 standard deviations from what the normaliser knows"


def test_one_within_reach_or_no_normaliser_is_not():
    assert not list(observation_out_of_distribution.judge(driven(full=Episodes(ended=0, farthest=8.0))))
    assert not list(observation_out_of_distribution.judge(driven()))
