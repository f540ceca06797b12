"""JD231 on closed loops."""

from jaxdoctor.rules.precision.nan_survives_reset import nan_survives_reset
from tests.loops import driven


def test_a_replay_that_is_neither_finite_nor_done_is_told():
    (finding,) = nan_survives_reset.judge(driven(2, surviving=2))

    assert finding.message == "2 of 16 replays at tf32 are not finite and not done, from step 3 on"


def test_masked_ones_do_not_survive():
    assert not list(nan_survives_reset.judge(driven(2, masked=2)))
