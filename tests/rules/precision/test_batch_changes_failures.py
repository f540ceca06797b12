"""JD205 on outcomes."""

from dataclasses import replace

from jaxdoctor.rules.precision.batch_changes_failures import batch_changes_failures
from tests.outcomes import outcome, trial


def with_single(ill, failed):
    return replace(ill, trials=(*ill.trials, trial(failed, batch=1)))


def test_failing_only_in_a_batch_is_told():
    (finding,) = batch_changes_failures.judge(with_single(outcome(14), 0))

    assert finding.message == "0 of 16 replays fail one at a time at tf32, and 14 of 16 in a batch"


def test_the_same_share_but_for_chance_is_no_difference():
    assert not list(batch_changes_failures.judge(with_single(outcome(14), 16)))
    assert not list(batch_changes_failures.judge(with_single(outcome(0), 0)))
    assert not list(batch_changes_failures.judge(outcome(14)))
