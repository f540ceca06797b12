"""JD203 on outcomes."""

from dataclasses import replace

from jaxdoctor.rules.precision.hidden_nan import hidden_nan
from tests.outcomes import outcome, trial


def test_a_nan_that_the_state_does_not_show_is_told():
    hidden = trial(16, hidden=15)

    (finding,) = hidden_nan.judge(replace(outcome(16), as_delivered=hidden))

    assert finding.message == (
        "15 of 16 replays keep qpos and qvel finite to the end while other fields are not: qLD, qacc"
    )


def test_a_nan_that_reaches_the_state_is_not_hidden():
    assert not list(hidden_nan.judge(outcome(16)))
