"""Which paths are meant, and what their names tell."""

import io
import os
from pathlib import Path

import numpy as np
import pytest

from jaxdoctor.checkpoints.discover import discover, expand
from jaxdoctor.checkpoints.reader import describe
from jaxdoctor.errors import NothingExaminedError, UsageError
from jaxdoctor.storage.budget import Budget, size_named
from jaxdoctor.storage.steps import run_of, step_of


@pytest.mark.parametrize(
    "text", ["{0}/a.npz\r\n{0}/b.npz\r\n", "{0}/a.npz\0{0}/b.npz\0", "{0}/a.npz\n{0}/b.npz"]
)
def test_names_on_stdin_end_as_their_writers_end_them(tmp_path, text):
    """On Windows with two letters, of `find -print0` and `git diff -z` with NUL."""
    for name in ("a.npz", "b.npz"):
        (tmp_path / name).touch()

    assert expand(["-"], io.StringIO(text.format(tmp_path))) == [tmp_path / "a.npz", tmp_path / "b.npz"]


def test_an_empty_list_on_stdin_is_no_success():
    with pytest.raises(NothingExaminedError, match="stdin names no checkpoint"):
        expand(["-"], io.StringIO("\n"))


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("checkpoint-500", 500),
        ("checkpoint_500", 500),
        ("000001024", 1024),
        ("-01627389952", -1627389952),
        ("ckpt_-100", -100),
        ("model_100.pt", 100),
        ("step=10.npz", 10),
        ("run-3.orbax", 3),
        ("checkpoint_0.5", None),
        ("v1.5.2", None),
        ("params", None),
        ("epoch12", 12),
        ("model_v2.pt", None),
        ("log-2026-11-21", None),
    ],
)
def test_a_name_tells_its_step(name, step):
    assert step_of(Path("run") / name) == step


def test_the_folder_tells_the_step_of_what_is_in_it():
    assert step_of(Path("run/global_step_40/actor")) == 40


def test_the_number_of_an_experiment_is_no_step():
    """Two experiments beside each other are not one run."""
    assert step_of(Path("exp-3/params")) is None
    assert run_of(Path("exp-3/params")) != run_of(Path("exp-4/params"))


def test_checkpoints_of_one_run_have_folder_and_name_in_common():
    assert run_of(Path("run/global_step_40/actor")) == run_of(Path("run/global_step_80/actor"))
    assert run_of(Path("run/checkpoint-5")) == run_of(Path("run/checkpoint-10"))
    assert run_of(Path("run/checkpoint-5")) != run_of(Path("other/checkpoint-5"))
    assert run_of(Path("a.npz")) != run_of(Path("b.npz"))


def test_globs_and_lists_are_spelled_out(tmp_path):
    for name in ("a.npz", "b.npz", "c.txt"):
        (tmp_path / name).touch()

    paths = expand([f"{tmp_path}/*.npz", "-"], io.StringIO(f"{tmp_path}/c.txt\n\n{tmp_path}/a.npz\n"))

    assert [path.name for path in paths] == ["a.npz", "b.npz", "c.txt"]


@pytest.mark.parametrize(
    ("name", "words"),
    [("missing", "does not exist"), ("missing*", "nothing matches"), ("gs://bucket/run", "not on this disk")],
)
def test_what_names_nothing_is_misuse(name, words):
    with pytest.raises(UsageError, match=words):
        expand([name], io.StringIO())


@pytest.mark.parametrize(
    "name",
    ["3000.orbax-checkpoint-tmp", "3000.orbax-checkpoint-tmp-17", "checkpoint_tmp", "tmp-checkpoint-5"],
)
def test_an_unfinished_save_is_named_and_not_entered(tmp_path, name):
    (tmp_path / name / "inside").mkdir(parents=True)

    (found,) = discover(tmp_path)

    assert found.unfinished
    assert found.path == tmp_path / name


def test_special_files_are_never_opened(tmp_path):
    """A FIFO would block whoever opens it. One that is called like a checkpoint is named as a fault."""
    os.mkfifo(tmp_path / "model.safetensors")
    os.mkfifo(tmp_path / "control")

    (found,) = discover(tmp_path)

    assert found.path.name == "model.safetensors"
    assert found.reason == "no regular file and no folder"
    assert next(discover(tmp_path / "control")).reason


def test_a_link_in_a_circle_ends(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path)

    assert list(discover(tmp_path)) == []


@pytest.mark.parametrize(("text", "size"), [("512MiB", 512 << 20), ("2GB", 2 * 10**9), ("100000000", 10**8)])
def test_sizes_are_read_as_people_write_them(text, size):
    assert size_named(text) == size


@pytest.mark.parametrize("text", ["much", "-1", "3MiB"])
def test_a_size_that_cannot_be_meant_is_misuse(text):
    with pytest.raises(UsageError):
        size_named(text)


def test_steps_on_another_disk_are_followed(tmp_path):
    """Each target once, under the first of its names; what lies under the run is found under its own name."""
    disk, run = tmp_path / "disk", tmp_path / "run"
    for folder in (disk / "a", run / "2000"):
        folder.mkdir(parents=True)
        np.savez(folder / "state.npz", w=np.ones(3))
    run.joinpath("1000").symlink_to(disk / "a")
    run.joinpath("best").symlink_to(disk / "a")
    run.joinpath("latest").symlink_to(run / "2000")
    run.joinpath("up").symlink_to(tmp_path)

    found = [one.path.relative_to(run).as_posix() for one in discover(run)]

    assert found == ["1000/state.npz", "2000/state.npz"]


def test_a_link_that_is_named_has_the_step_of_its_target(tmp_path):
    np.savez(tmp_path / "step_300.npz", w=np.ones(3))
    tmp_path.joinpath("latest.npz").symlink_to("step_300.npz")

    assert describe("npz", tmp_path / "latest.npz", Budget()).step == 300


def test_a_link_to_itself_says_what_is_wrong(tmp_path):
    (tmp_path / "loop.npz").symlink_to("loop.npz")

    (found,) = discover(tmp_path / "loop.npz")

    assert "symbolic links" in found.reason


def test_a_program_that_is_called_like_a_temporary_save_is_none(tmp_path):
    (tmp_path / "tmp_storages.py").write_text("class TempFolderStorage: ...")

    assert list(discover(tmp_path)) == []
