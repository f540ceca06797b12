"""JD233 on closed loops; of models JD205 tells."""

from dataclasses import replace

from jaxdoctor.rules.precision.batch_changes_failures import batch_changes_failures
from jaxdoctor.rules.precision.batch_changes_verdict import batch_changes_verdict
from tests.loops import driven, loop


def test_failing_in_the_batch_alone_is_told():
    ill = driven(14, alone=0, policy=loop(only_batched=("layers.py:16 (dense)",)))
    (finding,) = batch_changes_verdict.judge(ill)

    assert finding.message == "0 of 16 replays fail one at a time at tf32, and 14 of 16 in the batch"
    assert finding.evidence["only_batched"] == ["layers.py:16 (dense)"]
    assert not list(batch_changes_failures.judge(ill)), "one finding is enough"


def test_failing_alone_and_not_in_the_batch_is_told():
    (finding,) = batch_changes_verdict.judge(driven(0, alone=16))

    assert finding.message.startswith("16 of 16 replays fail one at a time")


def test_the_same_verdict_or_chance_is_not():
    assert not list(batch_changes_verdict.judge(driven(14, alone=16)))
    assert not list(batch_changes_verdict.judge(driven(1, alone=0)))
    assert not list(batch_changes_verdict.judge(replace(driven(14, alone=0), loop=None)))
