"""JD230 on closed loops."""

from jaxdoctor.facts.closed_loop import Part
from jaxdoctor.rules.precision.nan_masked_as_done import nan_masked_as_done
from tests.loops import driven


def test_an_episode_that_nan_ends_is_told():
    (finding,) = nan_masked_as_done.judge(driven(3, masked=3, part=Part.PHYSICS))

    assert finding.message == "3 of 16 episodes end at tf32 because of NaN, first in the physics"
    assert finding.location.step == 3


def test_an_episode_that_ends_finite_is_not():
    assert not list(nan_masked_as_done.judge(driven(0, ended=16)))
