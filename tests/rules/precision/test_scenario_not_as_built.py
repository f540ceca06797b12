"""JD209 on outcomes."""

from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.rules.precision.scenario_not_as_built import scenario_not_as_built
from tests.outcomes import outcome


def test_a_scenario_with_another_verdict_is_an_error():
    (finding,) = scenario_not_as_built.judge(outcome(16, expected=Verdict.HEALTHY))

    assert finding.message == "the packaged scenario was built to be healthy and came out as precision"


def test_a_scenario_as_built_and_one_not_known_are_left_alone():
    assert not list(scenario_not_as_built.judge(outcome(16, expected=Verdict.PRECISION)))
    assert not list(scenario_not_as_built.judge(outcome(0, Verdict.UNKNOWN, expected=Verdict.PRECISION)))
    assert not list(scenario_not_as_built.judge(outcome(16)))
