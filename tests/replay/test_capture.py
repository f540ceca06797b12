"""The steps before a failure, kept in the scratch folder."""

from types import SimpleNamespace

import numpy as np

from jaxdoctor.facts.precision import TF32, TF32_TRUNCATED
from jaxdoctor.replay.capture import capture
from jaxdoctor.replay.ensemble import Rollout
from jaxdoctor.replay.scratch import Scratch
from jaxdoctor.rollouts.record import Recording

STEPS, BATCH = 100, 3
LEAVES = ("qLD", "qacc", "qpos")


def rollout(failures, seed):
    """Failures by row: the step and the leaves."""
    bad = np.zeros((STEPS, BATCH, len(LEAVES)), bool)
    for row, (step, leaves) in failures.items():
        bad[step:, row] = [leaf in leaves for leaf in LEAVES]
    states = np.random.default_rng(seed).normal(size=(STEPS + 1, BATCH, 2)).astype("f4")
    return Rollout(bad=bad, leaves=LEAVES, states={"qpos": states})


def captured(folder, parts, *, carried=("qpos",), aside=(), precision=TF32):
    replays = BATCH * len(parts)
    recording = Recording(
        starts={"qpos": np.arange(replays * 2.0).reshape(replays, 2)},
        ctrl=np.arange(replays * STEPS * 1.0).reshape(replays, STEPS, 1),
        start="",
        controls="",
    )
    ensemble = SimpleNamespace(
        batch=BATCH, lanes=4, emulated=True, simulation=SimpleNamespace(carried=carried)
    )
    scratch = Scratch(str(folder))
    found = capture(scratch, recording, ensemble, parts, precision, replays=replays, aside=aside)
    return found, None if found is None else scratch.capture(found.file)


def test_the_earliest_failure_with_the_64_steps_before_it(tmp_path):
    parts = [rollout({0: (90, ("qpos",))}, 0), rollout({1: (80, ("qLD", "qacc")), 2: (95, ("qpos",))}, 1)]

    found, (state, start, control) = captured(tmp_path, parts)

    failure = found.failure
    assert (failure.step, failure.replay, failure.field) == (80, 4, "qLD")
    assert failure.fields == ("qLD", "qacc")
    assert (failure.precision, failure.bits, failure.emulated) == ("tf32", 10, True)
    assert (failure.batch, failure.lanes) == (BATCH, 4)
    assert (found.first_step, found.start_step) == (17, None)
    np.testing.assert_array_equal(state["qpos"], parts[1].states["qpos"][17:81, 1])
    assert control[:, 0].tolist() == list(range(4 * STEPS + 17, 4 * STEPS + 81))
    assert start == {}


def test_a_failure_in_the_first_steps_is_short(tmp_path):
    found, (state, _, control) = captured(tmp_path, [rollout({2: (0, ("qacc",))}, 0)])

    assert (found.first_step, found.failure.step) == (0, 0)
    assert state["qpos"].shape == (1, 2)
    assert control.shape == (1, 1)


def test_what_is_kept_of_a_state_in_part_starts_from_the_beginning(tmp_path):
    """Of an environment too much is carried to keep every step's whole state."""
    found, (state, start, control) = captured(
        tmp_path, [rollout({1: (80, ("qpos",))}, 0)], carried=("qpos", "info.steps")
    )

    assert (found.first_step, found.start_step) == (17, 0)
    assert state["qpos"].shape == (64, 2)
    assert start["qpos"].tolist() == [2, 3]
    assert control.shape == (81, 1)


def test_fields_that_are_never_finite_are_no_failure(tmp_path):
    assert captured(tmp_path, [rollout({0: (0, ("qLD",))}, 0)], aside=("qLD",)) == (None, None)
    assert captured(tmp_path, [rollout({}, 0)]) == (None, None)


def test_how_it_rounds_is_told(tmp_path):
    found, _ = captured(tmp_path, [rollout({0: (5, ("qpos",))}, 0)], precision=TF32_TRUNCATED)

    assert found.failure.toward_zero
    assert found.failure.name == "tf32-truncated (emulated)"
