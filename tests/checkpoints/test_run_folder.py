"""The folder of a run: pointers to a newest save that is not there, and saves in which nothing is."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.scan import scan
from tests.paths import FIXTURES

RANKS = FIXTURES / "torch" / "fsdp_ranks"


def found(folder):
    return [(one.name, Path(one.location.path).name) for one in scan([folder], Options()).findings]


def run_of_npz(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        np.savez(folder / name, w=np.ones(3, np.float32))
    return folder


def run_of_verl(folder):
    for step in (20, 40):
        shutil.copytree(RANKS, folder / f"global_step_{step}" / "actor")
    return folder


@pytest.mark.parametrize(("number", "expected"), [("60", "global_step_60"), ("40", None), ("20\n", None)])
def test_the_tracker_of_verl(tmp_path, number, expected):
    """It names the newest save; one that is older than the newest is no fault."""
    run = run_of_verl(tmp_path)
    (run / "latest_checkpointed_iteration.txt").write_text(number)

    findings = scan([run], Options()).findings

    assert [one.evidence["names"] for one in findings] == ([expected] if expected else [])
    assert all("global_step_40 is" in one.message and "global_step_40" in one.fix for one in findings)


def test_the_tracker_of_a_run_that_is_gone(tmp_path):
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("3000")

    assert found(tmp_path) == [("pointer-dangling", "latest_checkpointed_iteration.txt")]


@pytest.mark.parametrize(
    ("pointer", "content", "ill"),
    [
        ("latest", "step_30.npz", True),
        ("latest", "step_20.npz", False),
        ("latest", "20", False),
        ("latest.txt", "step_20", False),
        ("last_checkpoint", "/cluster/run/step_30.npz", True),
        ("last_checkpoint", "/cluster/run/step_20.npz", False),
        ("latest", "a sentence about the newest save", False),
        ("notes", "step_30.npz", False),
    ],
)
def test_a_file_that_names_the_newest_save(tmp_path, pointer, content, ill):
    run = run_of_npz(tmp_path, "step_10.npz", "step_20.npz")
    (run / pointer).write_text(content)

    assert found(run) == ([("pointer-dangling", pointer)] if ill else [])


def test_a_file_beside_no_saves_names_nothing(tmp_path):
    (tmp_path / "latest").write_text("1.2.3")
    run_of_npz(tmp_path, "below/w.npz")

    assert found(tmp_path / "below") == []


@pytest.mark.parametrize(("target", "ill"), [("step_30.npz", True), ("step_20.npz", False)])
def test_a_link_to_the_newest_save(tmp_path, target, ill):
    run = run_of_npz(tmp_path, "step_10.npz", "step_20.npz")
    (run / "latest.npz").symlink_to(target)

    report = scan([run], Options())

    assert [one.name for one in report.findings if one.name == "pointer-dangling"] == [
        "pointer-dangling"
    ] * ill
    if ill:
        assert "leads to step_30.npz" in report.findings[0].message


def test_the_state_of_tensorflow(tmp_path):
    """Its file `checkpoint` names a prefix, of which one file ends in `.index`."""
    for name in (FIXTURES / "tensorflow").iterdir():
        shutil.copy(name, tmp_path)
    (tmp_path / "checkpoint").write_text(
        'model_checkpoint_path: "ckpt-1"\nall_model_checkpoint_paths: "ckpt-1"\n'
    )
    healthy = found(tmp_path)
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "/old/ckpt-2"\n')

    assert set(found(tmp_path)) - set(healthy) == {("pointer-dangling", "checkpoint")}


@pytest.mark.parametrize("name", ["step_30", "checkpoint-7"])
def test_a_save_that_holds_nothing(tmp_path, name):
    run = run_of_npz(tmp_path, "step_10/state.npz", "step_20/state.npz")
    (run / name).mkdir()

    assert found(run) == [("empty-save", name)]


@pytest.mark.parametrize("name", ["logs", "v30", "seed", "30"])
def test_an_empty_folder_of_another_kind_is_nothing(tmp_path, name):
    run = run_of_npz(tmp_path, "step_10/state.npz", "step_20/state.npz")
    (run / name).mkdir()

    assert found(run) == []


@pytest.mark.parametrize(
    ("names", "empty", "told"),
    [
        (("checkpoint_10", "checkpoint_20"), "checkpoint_30", True),
        (("rl_model_64_steps.zip", "rl_model_128_steps.zip"), "rl_model_192_steps.zip", True),
        (("step_10.npz", "step_20.npz"), "step_30.npz", True),
        (("step_10.npz", "step_20.npz"), "step_30.log", False),
        (("step_10.npz", "step_20.npz"), "DONE", False),
    ],
)
def test_a_file_of_a_save_that_is_empty(tmp_path, names, empty, told):
    """It is told once, whether its suffix is a checkpoint's or not."""
    for name in names:
        with (tmp_path / name).open("wb") as file:
            np.savez(file, w=np.ones(3, np.float32) * len(name))
    (tmp_path / empty).touch()

    assert found(tmp_path) == ([("truncated-file", empty)] if told else [])


def test_an_actor_that_the_steps_before_have(tmp_path):
    """A step of verl without its actor, or with a folder of that name in which nothing is."""
    for step in (20, 40, 60):
        for part in ("actor", "critic"):
            shutil.copytree(RANKS, tmp_path / f"global_step_{step}" / part)
    assert found(tmp_path) == []

    shutil.rmtree(tmp_path / "global_step_20" / "actor")
    assert found(tmp_path) == [], "an old actor may be deleted to save space"

    shutil.copytree(RANKS, tmp_path / "global_step_20" / "actor")
    shutil.rmtree(tmp_path / "global_step_60" / "actor")
    assert found(tmp_path) == [("missing-file", "global_step_60")]


@pytest.mark.parametrize("pointer", ["latest", "last_checkpoint", "latest_checkpointed_iteration.txt"])
def test_a_file_that_names_nothing(tmp_path, pointer):
    run = run_of_npz(tmp_path, "step_10.npz", "step_20.npz")
    (run / pointer).write_text("\n")

    (finding,) = scan([run], Options()).findings

    assert finding.name == "pointer-dangling"
    assert "is empty" in finding.message
    assert "step_20.npz" in finding.fix
