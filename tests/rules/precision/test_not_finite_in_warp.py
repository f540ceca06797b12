"""JD252: Warp loses the rollout."""

from jaxdoctor.rules.precision.not_finite_in_warp import not_finite_in_warp
from tests.outcomes import outcome, trial


def test_the_step_and_the_field_are_named():
    (finding,) = not_finite_in_warp.judge(outcome(warp=trial(3)))

    assert finding.message == (
        "3 of 16 replays are not finite in MuJoCo Warp, first qLD at step 3; no setting of JAX changes that"
    )


def test_a_finite_replay_and_none_at_all_are_healthy():
    assert not list(not_finite_in_warp.judge(outcome(warp=trial(0))))
    assert not list(not_finite_in_warp.judge(outcome(16)))
