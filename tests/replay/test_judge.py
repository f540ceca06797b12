"""What becomes of a rollout's arrays."""

import numpy as np
import pytest

from jaxdoctor.replay.ensemble import Rollout
from jaxdoctor.replay.judge import always_nonfinite, horizon, judgement_of, one_step_error
from jaxdoctor.replay.plan import Lane
from jaxdoctor.replay.scratch import Reference

LEAVES = ("qLD", "qacc", "qpos")


def rollout(bad=(), *, steps=6, replays=2, qpos=None):
    """A rollout in which (step, replay, leaf) went bad, and stayed so.

    `qpos` are coordinates before each step and after the last: steps + 1 x replays x 2.
    """
    marked = np.zeros((steps, replays, len(LEAVES)), bool)
    for step, replay, leaf in bad:
        marked[step:, replay, LEAVES.index(leaf)] = True
    states = {"qpos": np.zeros((steps + 1, replays, 2)) if qpos is None else qpos}
    return Rollout(bad=marked, leaves=LEAVES, states=states, state=("qpos",))


def reference(qpos, finite=None):
    finite = np.ones(qpos.shape[1], bool) if finite is None else np.array(finite)
    return Reference(states={"qpos": qpos}, finite=finite, aside=())


def test_the_first_step_and_the_first_field_in_pipeline_order_are_named():
    ill = rollout([(4, 0, "qLD"), (2, 1, "qpos"), (2, 1, "qacc")])

    found = judgement_of(Lane(), [ill], replays=2)

    assert (found.failed, found.first_bad_step, found.first_bad_field) == (2, 2, "qacc")
    assert found.first_bad_replay == 1
    assert found.bad_fields == ("qLD", "qacc", "qpos")


def test_a_failure_that_never_reaches_the_state_is_hidden():
    found = judgement_of(Lane(), [rollout([(0, 0, "qacc"), (1, 1, "qpos")])], replays=2)

    assert (found.failed, found.hidden) == (2, 1)


def test_parts_of_the_replays_are_one_ensemble():
    """The second part ended early because all in it had failed; what was not asked for is left out."""
    parts = [rollout(), rollout([(0, 0, "qpos"), (0, 1, "qpos")], steps=3)]

    assert judgement_of(Lane(), parts, replays=3).failed == 1
    assert judgement_of(Lane(), parts, replays=4).failed == 2
    assert judgement_of(Lane(), parts, replays=4).steps == 6


def test_fields_set_aside_are_not_judged():
    assert judgement_of(Lane(), [rollout([(0, 0, "qLD")])], replays=2, aside=("qLD",)).failed == 0


def test_only_what_is_never_finite_in_a_finite_replay_is_set_aside():
    always = [(0, 0, "qLD"), (0, 1, "qLD")]

    assert always_nonfinite(rollout(always)) == ("qLD",)
    assert always_nonfinite(rollout(always[:1])) == ()
    assert always_nonfinite(rollout([*always, (3, 0, "qacc")])) == ("qLD",)
    assert always_nonfinite(rollout([*always, (3, 0, "qacc"), (5, 1, "qpos")])) == ()


def test_the_horizon_is_the_median_step_of_leaving_the_reference():
    there = np.zeros((7, 3, 2))
    here = there.copy()
    here[3:, 0, 1], here[5:, 1], here[6:, 2, 0] = 1.0, np.nan, -1.0

    assert horizon(rollout(replays=3, qpos=here), reference(there)) == 4
    assert horizon(rollout(replays=3, qpos=here), reference(there, [True, False, False])) == 2
    assert horizon(rollout(replays=3, qpos=there), reference(there)) is None
    assert horizon(rollout(replays=3, qpos=here), reference(there, [False] * 3)) is None


def test_the_one_step_error_is_the_median_of_what_is_finite():
    """Relative to the norm of the state: 3 and 4 have 5."""
    there = np.broadcast_to(np.array([3.0, 4.0]), (7, 2, 2))
    here = there + np.array([0.0, 1e-3])
    here[1] = np.nan

    assert one_step_error(rollout(qpos=here), reference(there)) == pytest.approx(2e-4, rel=1e-9)
    assert one_step_error(rollout(qpos=here), reference(there, [False] * 2)) is None
    assert one_step_error(rollout(qpos=np.full_like(here, np.nan)), reference(there)) is None
