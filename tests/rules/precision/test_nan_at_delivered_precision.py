"""JD201 on outcomes."""

from jaxdoctor.facts.outcome import Verdict
from jaxdoctor.rules.precision.nan_at_delivered_precision import nan_at_delivered_precision
from tests.outcomes import outcome, trial

MAKE_M = "mujoco/mjx/_src/support.py:67 (make_m)"


def test_replays_that_fail_as_delivered_are_an_error():
    """The share, the place, the cure and the product that is enough."""
    (finding,) = nan_at_delivered_precision.judge(outcome(16, culprits=(MAKE_M,)))

    assert finding.message == (
        "16 of 16 replays are not finite at the 10 mantissa bits that rtx-4090 delivers, first qLD at step 3"
        f"; finite from 13 bits on; rounding the product at {MAKE_M} is enough to cause it"
    )
    assert (finding.location.leaf, finding.location.step) == ("qLD", 3)
    assert finding.fix == ("set jax_default_matmul_precision to highest: 0 of 16 replays fail with it")


def test_a_setting_that_does_not_mend_it_is_not_advised():
    at_highest = trial(3)

    (finding,) = nan_at_delivered_precision.judge(outcome(16, at_highest=at_highest))

    assert finding.fix == "enable x64: 0 of 16 replays fail with it"


def test_what_only_x64_mends_is_not_laid_on_the_card():
    """Its bits play no part where float32 itself is too narrow."""
    (finding,) = nan_at_delivered_precision.judge(outcome(16, required=24, full=16))

    assert finding.message == (
        "16 of 16 replays are not finite in float32, first qLD at step 3; "
        "float32 is not enough on any card, x64 is"
    )
    assert "highest" not in finding.fix


def test_a_healthy_rollout_and_an_unstable_model_are_left_alone():
    assert not list(nan_at_delivered_precision.judge(outcome(0, required=8)))
    assert not list(nan_at_delivered_precision.judge(outcome(16, Verdict.MODEL, x64=16)))
