"""JD237 on closed loops."""

from jaxdoctor.facts.closed_loop import Mean
from jaxdoctor.rules.precision.precision_costs_reward import precision_costs_reward
from tests.loops import driven, loop


def test_a_return_that_is_clearly_less_is_told():
    (finding,) = precision_costs_reward.judge(driven(change=Mean(-4.0, -5.0, -3.0)))

    assert finding.message == "the return at tf32 is 4 less than 10 at float32 (-5 to -3)"


def test_chance_a_small_share_or_a_random_policy_are_not():
    assert not list(precision_costs_reward.judge(driven(change=Mean(-4.0, -9.0, 1.0))))
    assert not list(precision_costs_reward.judge(driven(change=Mean(-0.4, -0.5, -0.3))))
    assert not list(
        precision_costs_reward.judge(driven(change=Mean(-4.0, -5.0, -3.0), policy=loop(trained=False)))
    )
