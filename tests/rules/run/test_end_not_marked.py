"""Saves whose end is not marked."""

import numpy as np

from jaxdoctor.rules.run.end_not_marked import end_not_marked
from tests.builders import checkpoint, judged, scanned, series


def run(*marks):
    return series(*(checkpoint(step=step, marks=one) for step, one in enumerate(marks, 1)))


def test_the_one_without_a_mark_is_told():
    (finding,) = judged(end_not_marked, run(("DONE",), ("DONE",), ()))

    assert finding.message == "it has no DONE, which the 2 other checkpoints of the run have"
    assert finding.location.step == 3


def test_neighbours_are_healthy():
    assert not judged(end_not_marked, run(("DONE",), ("DONE",), ("DONE",)))
    assert not judged(end_not_marked, run((), (), ()))
    assert not judged(end_not_marked, run(("DONE",), ()))
    assert not judged(end_not_marked, run(("DONE",), (), ("DONE",), ()))


def test_real_folders(tmp_path):
    """A loop that writes its arrays and then an empty file."""
    for step in (10, 20, 30):
        folder = tmp_path / f"step_{step}"
        folder.mkdir()
        np.savez(folder / "state.npz", w=np.random.default_rng(step).normal(size=(4, 4)).astype("float32"))
        if step != 30:
            (folder / "_SUCCESS").touch()

    (finding,) = scanned(tmp_path)
    assert finding.name == "end-not-marked"
    assert finding.fix.endswith("the last clean checkpoint is `step_20/state.npz`")
