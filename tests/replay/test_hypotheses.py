"""What a hypothesis about products is judged by."""

import time

import numpy as np
import pytest

from jaxdoctor.replay.ensemble import Rollout
from jaxdoctor.replay.hypotheses import FailingShares, OneStepErrors, OutOfTimeError
from jaxdoctor.replay.plan import Lane
from jaxdoctor.replay.scratch import Reference
from jaxdoctor.rollouts.record import Recording
from jaxdoctor.workers.progress import SILENT

EXACT, ROUNDED, HALF = Lane(bits=23), Lane(bits=10), Lane(bits=15)
BATCH = 16


class Counted:
    """Instead of a compiled program: of each lane's replays so many fail, spread over its parts."""

    batch = BATCH

    def __init__(self, shares):
        self.shares, self.launched = shares, []

    def roll_out(self, _, lanes, **__):
        self.launched += lanes
        return [self.rollout(self.shares[lane.bits]) for lane in lanes]

    def rollout(self, share):
        bad = (np.arange(BATCH) < round(share * BATCH))[None, :, None]
        states = {"qpos": np.stack([np.ones((BATCH, 1)), np.where(bad[0], np.nan, 1 + share)])}
        return Rollout(bad=bad, leaves=("qpos",), states=states, state=("qpos",), coordinates="qpos")


def recording(replays):
    return Recording(starts={}, ctrl=np.zeros((replays, 1, 0)), start="", controls="")


def failing(shares, *, replays=BATCH, recorded=BATCH):
    return FailingShares(
        Counted(shares),
        recording(recorded),
        replays=replays,
        deadline=time.monotonic() + 60,
        aside=(),
        progress=SILENT,
    )


def test_shares_whose_intervals_do_not_overlap_are_decided():
    """Wilson's interval of 0 of 16 ends at 0.19; that of 8 of 16 begins at 0.28."""
    asked = failing({23: 0.0, 10: 0.5})

    assert asked.undecided(EXACT, ROUNDED) is None
    assert asked.replays == BATCH


def test_where_intervals_overlap_twice_as_many_replays_decide():
    """4 of 16 begin at 0.10, and 0 of 16 end at 0.19; 8 of 32 begin at 0.13, and 0 of 32 end at 0.11."""
    asked = failing({23: 0.0, 10: 0.25}, recorded=4 * BATCH)

    assert asked.undecided(EXACT, ROUNDED) is None
    assert asked.replays == 2 * BATCH


@pytest.mark.parametrize(("recorded", "replays"), [(BATCH, BATCH), (8 * BATCH, 2 * BATCH)])
def test_replays_are_doubled_once_and_then_it_is_not_decided(recorded, replays):
    """As many as were recorded are there at most."""
    asked = failing({23: 0.0, 10: 1 / 16}, recorded=recorded)

    assert asked.undecided(EXACT, ROUNDED) == f"not decided by {replays} replays"
    assert asked.replays == replays


def test_a_hypothesis_is_well_where_it_is_told_from_the_rounded_and_not_from_the_exact():
    asked = failing({23: 0.0, 10: 1.0, 15: 0.125, 14: 0.5})

    assert asked.well([HALF, Lane(bits=14)], EXACT, ROUNDED) == [True, False]


def test_what_was_replayed_already_is_not_replayed_again():
    asked = failing({23: 0.0, 10: 1.0})
    asked.know(EXACT, [asked.ensemble.rollout(0.0)])

    assert asked.undecided(EXACT, ROUNDED) is None
    assert asked.ensemble.launched == [ROUNDED]


def test_a_deadline_ends_the_asking():
    asked = failing({23: 0.0, 10: 1.0})
    asked.deadline = time.monotonic() - 1

    with pytest.raises(OutOfTimeError):
        asked.undecided(EXACT, ROUNDED)


def erring(shares, bound):
    reference = Reference(states={"qpos": np.ones((2, BATCH, 1))}, finite=np.ones(BATCH, bool), aside=())
    return OneStepErrors(
        Counted(shares),
        recording(BATCH),
        reference,
        bound=bound,
        deadline=time.monotonic() + 60,
        progress=SILENT,
    )


def test_a_one_step_error_is_held_against_the_bound():
    asked = erring({23: 0.0, 10: 0.25, 15: 0.125}, bound=0.2)

    assert asked.undecided(EXACT, ROUNDED) is None
    assert asked.well([HALF, ROUNDED], EXACT, ROUNDED) == [True, False]


def test_a_step_that_is_not_finite_is_an_error_without_end():
    """More than half of them are lost."""
    asked = erring({23: 0.75, 10: 1.0}, bound=0.9)

    assert (
        asked.undecided(EXACT, ROUNDED)
        == "with every product exact the one-step error is inf, above the bound"
    )
