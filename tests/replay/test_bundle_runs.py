"""A bundle replayed: in the engine in which it failed, and in others."""

import shutil
import time
from dataclasses import replace

import numpy as np
import pytest

from jaxdoctor.bundles.bundle import Failure
from jaxdoctor.bundles.read import read
from jaxdoctor.errors import UnreadableError, UnsupportedModelError, UsageError
from jaxdoctor.facts.precision import F32, TF32
from jaxdoctor.replay.bundle_loader import load
from jaxdoctor.replay.bundle_runs import replay_in_c, replay_in_jax
from jaxdoctor.replay.bundle_writer import write_bundle
from jaxdoctor.replay.native import replay
from jaxdoctor.replay.packed_policy import unpacked
from jaxdoctor.replay.plan import BundlePlan, NativePlan, RecordPlan, ReplayPlan
from jaxdoctor.replay.prepare import prepare
from jaxdoctor.rollouts.policy import read_policy
from jaxdoctor.workers.progress import SILENT
from tests.replay.failing import by_hand, runaway
from tests.rollouts.policies.brax_saved import saved_by_brax
from tests.steppable import CODE


def plan(path, **changes):
    return ReplayPlan(bundle=str(path), how="here", deadline=time.monotonic() + 1000, **changes)


def fresh(tmp_path, name="fresh"):
    (tmp_path / name).mkdir()
    return str(tmp_path / name)


def test_c_fails_in_the_step_that_it_failed_in(tmp_path):
    """A model's own fault needs no precision: C steps from the recorded state to the same end."""
    (run,) = replay_in_c(fresh(tmp_path), plan(by_hand(tmp_path)), progress=SILENT)

    assert (run.first_bad_step, run.first_bad_field) == (27, "qacc")
    assert run.left_at is None
    assert run.difference == 0.0


def test_steps_of_an_environment_are_several_of_the_physics(tmp_path):
    """Every second state is recorded, and a failure is counted in recorded steps."""
    whole = load(fresh(tmp_path), plan(by_hand(tmp_path)), SILENT).bundle
    (tmp_path / "thinned").mkdir()
    thinned = by_hand(
        tmp_path / "thinned",
        state={leaf: values[::2] for leaf, values in whole.state.items()},
        substeps=2,
        first_step=0,
        control=np.zeros((4, 0)),
        failure=Failure(step=3, field="qacc"),
    )

    (run,) = replay_in_c(fresh(tmp_path, "c"), plan(thinned), progress=SILENT)

    assert (run.first_bad_step, run.difference) == (3, 0.0)


def test_it_needs_neither_the_files_nor_the_folder(tmp_path):
    path = by_hand(tmp_path)
    (tmp_path / "runaway.xml").unlink()

    assert replay_in_c(fresh(tmp_path), plan(path), progress=SILENT)[0].failed


def test_what_was_recorded_of_the_users_code_is_not_run_unasked(tmp_path):
    """A stranger's file must not choose what is imported."""
    marked = tmp_path / "evil.py"
    marked.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    path = by_hand(tmp_path, system="function", subject=f"{marked}:f --args {marked}:g", model=None, files={})

    with pytest.raises(UsageError, match="code and not in it"):
        load(fresh(tmp_path), plan(path), SILENT)
    assert not (tmp_path / "ran").exists()


def test_a_system_that_nobody_knows_is_told(tmp_path):
    with pytest.raises(UnreadableError, match="'weather', which is not known"):
        load(fresh(tmp_path), plan(by_hand(tmp_path, system="weather")), SILENT)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"state": {"qpos": np.zeros((8, 2))}}, r"recorded as \(2,\)"),
        ({"state": {"wheel": np.zeros((8, 1))}}, "has no wheel"),
        ({"control": np.zeros((8, 3))}, "3 controls were recorded, and it has 0"),
    ],
)
def test_a_state_of_another_model_is_told(tmp_path, changes, said):
    loaded = load(fresh(tmp_path), plan(by_hand(tmp_path, **changes)), SILENT)

    with pytest.raises(UnreadableError, match=said):
        loaded.simulation()


def test_c_needs_positions_and_velocities(tmp_path):
    path = by_hand(tmp_path, state={"qpos": np.zeros((8, 1))})

    with pytest.raises(UnsupportedModelError, match="has no qvel"):
        replay_in_c(fresh(tmp_path), plan(path), progress=SILENT)


@pytest.mark.slow
def test_an_environment_is_replayed_from_its_reset_by_the_policy_of_the_bundle(tmp_path):
    """Not all that it carries is kept of each step; the file has its name, its reset, and the policy."""
    saved = saved_by_brax(tmp_path / "run", size=2, actions=1, policy_hidden_layer_sizes=(4,))
    (tmp_path / "train.py").write_text(CODE)
    folder, path = fresh(tmp_path, "scratch"), tmp_path / "f.zip"
    argument = f"--env {tmp_path}/train.py:Blind"
    recorded = RecordPlan(
        model=argument, controls=None, replays=4, steps=12, seed=0, policy=read_policy(str(saved.params))
    )
    prepare(folder, recorded, progress=SILENT)
    native = NativePlan(
        title="float32", batch=4, replays=4, most_replays=4, deadline=time.monotonic() + 1000, captures=F32
    )
    captured = replay(folder, native, progress=SILENT).captured
    written = BundlePlan(
        path=str(path), subject="Blind", captured=captured, versions={}, settings={}, environment={}
    )
    without = write_bundle(folder, written, progress=SILENT)
    assert without.policy is None
    assert read(path).policy is None
    said = write_bundle(folder, replace(written, with_policy=True), progress=SILENT)
    shutil.rmtree(tmp_path / "run")

    found = plan(path, argument=argument, policy=unpacked(read(path).policy, None))
    (run,) = replay_in_jax(fresh(tmp_path), found, progress=SILENT)
    (other,) = replay_in_jax(
        fresh(tmp_path, "other"), replace(found, policy=read_policy(None)), progress=SILENT
    )

    assert (said.step, said.field) == (5, "state.data")
    assert (said.policy, said.policy_left_out) == (recorded.policy.name, None)
    assert (run.first_bad_step, run.first_bad_field) == (5, "state.data")
    assert run.difference == 0.0
    assert other.difference > 0
    assert captured.start_step == 0


@pytest.mark.slow
def test_a_failure_of_mjx_repeats_to_the_last_bit(tmp_path):
    """Recorded, written, and replayed from the file alone: natively, emulated, and in C."""
    folder, path = fresh(tmp_path, "scratch"), tmp_path / "f.zip"
    recorded = RecordPlan(model=str(runaway(tmp_path)), controls=None, replays=4, steps=100, seed=0)
    prepare(folder, recorded, progress=SILENT)
    native = NativePlan(
        title="float32", batch=4, replays=4, most_replays=4, deadline=time.monotonic() + 1000, captures=F32
    )
    captured = replay(folder, native, progress=SILENT).captured
    said = write_bundle(
        folder,
        BundlePlan(
            path=str(path), subject="runaway", captured=captured, versions={}, settings={}, environment={}
        ),
        progress=SILENT,
    )
    (tmp_path / "runaway.xml").unlink()

    runs = [
        *replay_in_jax(fresh(tmp_path, "native"), plan(path), progress=SILENT),
        *replay_in_jax(fresh(tmp_path, "emulated"), plan(path, precisions=(TF32, F32)), progress=SILENT),
    ]
    (in_c,) = replay_in_c(fresh(tmp_path, "c"), plan(path), progress=SILENT)

    assert [run.how for run in runs] == ["here", "tf32 (emulated)", "f32 (emulated)"]
    assert {(run.first_bad_step, run.first_bad_field) for run in runs} == {(said.step, said.field)}
    assert runs[0].difference == 0.0
    assert in_c.failed
    assert in_c.first_bad_step < said.step
