"""JD224: energy out of nothing."""

from jaxdoctor.facts.finding import Severity
from jaxdoctor.facts.outcome import Growth, RolledInC, Verdict
from jaxdoctor.rules.precision.speed_without_bound import speed_without_bound
from tests.outcomes import outcome

GROWTH = Growth(growing=7, replays=16, speeds=(3.98, 864.0), energies=(0.043, 1680.0))


def test_replays_beyond_mujocos_limit_are_named_with_their_moment():
    in_c = RolledInC(replays=16, unusable=16, first_unusable_step=146, growth=GROWTH)

    (finding,) = speed_without_bound.judge(outcome(0, Verdict.MODEL, in_c=in_c, timestep=0.002))

    assert finding.severity is Severity.ERROR
    assert finding.location.step == 146
    assert finding.message == (
        "16 of 16 replays pass MuJoCo's own limits in C and float64, the first at step 146, 0.29 s"
    )


def test_growth_is_named_before_anything_breaks():
    in_c = RolledInC(replays=16, growth=GROWTH)

    (finding,) = speed_without_bound.judge(outcome(0, Verdict.MODEL, in_c=in_c, timestep=0.002, steps=100))

    assert finding.message == (
        "the speed of 7 of 16 replays grows by a factor in every step, from 4 to 8.6e+02 within 0.2 s, "
        "in C and float64"
    )


def test_nan_has_a_rule_of_its_own_and_healthy_rollouts_none():
    failed = outcome(
        16, Verdict.MODEL, x64=16, in_c=RolledInC(replays=16, unusable=16, first_unusable_step=3)
    )

    assert not list(speed_without_bound.judge(failed))
    assert not list(speed_without_bound.judge(outcome(in_c=RolledInC(replays=16))))
