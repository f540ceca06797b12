"""Steps in names, and many faults in few lines."""

import pytest

from jaxdoctor.facts.fault import Fault
from jaxdoctor.storage.notes import EACH, Notes
from jaxdoctor.storage.steps import is_step_name, named_step


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("12", 12),
        ("000000000012", 12),
        ("-01627389952", -1627389952),
        ("checkpoint_12", 12),
        ("checkpoint-12", 12),
        ("step_-12", -12),
        ("3000.orbax-checkpoint-tmp", 3000),
        ("checkpoint_7.tmp-1700000000", 7),
        ("checkpoint_0.5", None),
        ("best", None),
        ("resnet50", None),
        ("run_20261121094500123456", None),
        ("run_2026-11-21", None),
        ("run_20261121", None),
        ("run_20261121_094500", None),
        ("20261121-094500", None),
        ("run_2026_11_21", None),
        ("checkpoint_20261121", 20261121),
        ("20261121", 20261121),
        ("step-20054016", 20054016),
        ("model_100.pt", 100),
        ("epoch12", 12),
        ("ckpt=7", 7),
        ("global_step40", 40),
        ("epoch=3-step=24.ckpt", 24),
        ("rl_model_64_steps.zip", 64),
        ("iter_0000100", 100),
        ("step_7.npz.tmp", 7),
        ("v2", None),
    ],
)
def test_the_step_in_a_name(name, step):
    """A number alone or behind a separator; a fraction, a word's digit and a date are none."""
    assert named_step(name) == step


@pytest.mark.parametrize(
    ("name", "expected"), [("12", True), ("ckpt_3", True), ("state", False), ("v1.5", False)]
)
def test_names_of_steps(name, expected):
    """What a run calls its saves, and what a save calls its items."""
    assert is_step_name(name) is expected


def test_many_faults_of_one_kind_are_counted():
    """The last one that is told says how many were like it; other kinds stand beside."""
    notes = Notes()
    for index in range(EACH + 5):
        notes(Fault(kind="missing-file", message=f"{index} is gone"))
    notes(Fault(kind="corrupt-data", message="odd"))

    assert len(notes.faults) == EACH + 1
    assert notes.faults[EACH - 1].message == f"{EACH - 1} is gone (and 5 more like it)"
    assert notes.faults[-1].kind == "corrupt-data"
