"""Numbered experiments, and numbered saves of one run."""

import dataclasses

import numpy as np
import pytest

from jaxdoctor.checkpoints.experiments import are_experiments
from tests.builders import START, checkpoint, leaf, scanned


def saves(*pairs, shapes=None, times=None):
    """Checkpoints numbered so, with such counts inside."""
    made = []
    for index, (number, count) in enumerate(pairs):
        shape = (4, 4) if shapes is None else shapes[index]
        leaves = [leaf("params/w", shape=shape, role="parameter")]
        leaves.append(leaf("num_timesteps", "int64", role="counter", value=count))
        saved = checkpoint(*leaves, step=number)
        made.append(saved if times is None else dataclasses.replace(saved, saved_at=START + times[index]))
    return made


@pytest.mark.parametrize(
    "run",
    [
        saves((1, 500_000), (2, 500_000), (3, 500_000)),
        saves((3, 600), (4, 400), (5, 400)),
        saves((1, 100), (2, 200), shapes=[(4, 8), (4, 16)]),
        saves((1, 100), (2, 200), times=[3600, 0]),
    ],
    ids=["equal budgets", "fewer steps", "another network", "an older one"],
)
def test_numbered_trainings_are_no_run(run):
    assert are_experiments(run, "PPO_")


@pytest.mark.parametrize(
    ("run", "name"),
    [
        (saves((1, 100), (2, 200), (3, 300)), "policy_"),
        (saves((1, 500), (2, 500)), "checkpoint_"),
        (saves((1, 500), (2, 500)), ""),
        (saves((1000, 500), (2000, 500)), "model_"),
        (saves((1, 100), (2, 200), shapes=[(4, 4), (8, 4, 4)]), "policy_"),
    ],
    ids=["counts on", "named as saves", "bare numbers", "large numbers", "an axis of devices"],
)
def test_saves_of_a_run_are_one(run, name):
    assert not are_experiments(run, name)


def test_numbered_arrays_of_one_pickle_are_no_run(tmp_path):
    """Old versions of joblib put each array of a pickle into a file of its own."""
    for index, values in enumerate([np.arange(4), np.linspace(0, 1, 4), np.float32([[1, 2]])]):
        np.save(tmp_path / f"model.pkl_0{index}.npy", values)

    assert scanned(tmp_path) == ()


def test_real_files_of_several_trainings_get_no_rules_of_a_run(tmp_path):
    """Each ended after the same number of steps, which in one run would be a step that stands still."""
    for index in (1, 2, 3):
        weights = np.random.default_rng(index).normal(size=(6, 2 + index))
        np.savez(tmp_path / f"walker-{index}.npz", w=weights.astype("float32"), step=np.int32(40_000))

    assert scanned(tmp_path) == ()
