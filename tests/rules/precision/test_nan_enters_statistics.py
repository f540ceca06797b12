"""JD232 on closed loops."""

from jaxdoctor.rules.precision.nan_enters_statistics import nan_enters_statistics
from tests.loops import driven


def test_an_observation_that_spoils_statistics_is_told():
    (finding,) = nan_enters_statistics.judge(driven(2, surviving=2, entering=1))

    assert finding.message == "1 of 16 replays at tf32 would spoil the statistics of a normaliser"


def test_finite_observations_do_not():
    assert not list(nan_enters_statistics.judge(driven(2, surviving=2)))
