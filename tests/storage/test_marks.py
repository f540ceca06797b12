"""Marks of a save's end."""

from jaxdoctor.storage.marks import marks_of


def test_a_step_folder_has_its_marks_inside(tmp_path):
    folder = tmp_path / "step_100"
    folder.mkdir()
    for name in ("_SUCCESS", "state.npz", "state.npz.done", "not_done.json"):
        (folder / name).touch()

    assert marks_of(folder) == ("*.done", "_SUCCESS")
    assert marks_of(folder / "state.npz") == ("*.done", "_SUCCESS")


def test_a_file_has_its_marks_beside_it(tmp_path):
    for name in ("step_100.npz", "step_100.npz.done", "step_200.npz", "step_300.complete", "DONE"):
        (tmp_path / name).touch()

    assert marks_of(tmp_path / "step_100.npz") == ("*.done",)
    assert marks_of(tmp_path / "step_200.npz") == ()
    assert marks_of(tmp_path / "step_300.npz") == ("*.complete",)


def test_a_folder_that_is_gone_has_none(tmp_path):
    assert marks_of(tmp_path / "gone" / "x.npz") == ()
