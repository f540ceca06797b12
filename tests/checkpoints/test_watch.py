"""Watching a run while it is written."""

import io
import json
import os
import shutil
import sys

import numpy as np
import pytest

from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.watch import Vigil, fingerprint, watch
from jaxdoctor.reports.wording import summary


def save(folder, step, *, bad=False):
    weights = np.full(4, np.nan if bad else 1.0, np.float32)
    path = folder / f"step_{step}.npz"
    np.savez(path, w=weights, step=np.int32(step))
    os.utime(path, (1_700_000_000 + step, 1_700_000_000 + step))
    return path


def test_a_checkpoint_is_judged_once_it_rests(tmp_path):
    """The first poll only sees it; what is unchanged at the second is finished."""
    vigil = Vigil([tmp_path], Options())
    save(tmp_path, 1000)

    first, second, third = vigil.poll(), vigil.poll(), vigil.poll()

    assert first is None
    assert [saved.step for saved in second.checkpoints] == [1000]
    assert third is None


def test_a_file_that_still_grows_is_not_touched(tmp_path):
    vigil = Vigil([tmp_path], Options())
    path = save(tmp_path, 1000)
    whole = path.read_bytes()

    path.write_bytes(whole[:300])
    vigil.poll()
    path.write_bytes(whole)

    assert vigil.poll() is None
    assert vigil.poll().examined == 1


@pytest.mark.parametrize("name", ["2000.orbax-checkpoint-tmp", "tmp-checkpoint-2000"])
def test_an_unfinished_save_is_left_alone(tmp_path, name):
    shutil.copy(save(tmp_path, 1000), (tmp_path / name))
    vigil = Vigil([tmp_path], Options())

    vigil.poll()
    report = vigil.poll()

    assert [saved.step for saved in report.checkpoints] == [1000]
    assert not report.findings


def test_only_what_is_new_is_told(tmp_path):
    """The illness of the first checkpoint is not told again with the second."""
    vigil = Vigil([tmp_path], Options())
    save(tmp_path, 1000, bad=True)
    vigil.poll()
    assert [finding.name for finding in vigil.poll().findings] == ["nonfinite-values"]

    save(tmp_path, 2000, bad=True)
    vigil.poll()
    news = vigil.poll()

    assert [saved.step for saved in news.checkpoints] == [2000]
    assert not news.findings


def test_the_run_is_judged_as_one(tmp_path):
    """A counter that stands still shows only beside the checkpoint before."""
    vigil = Vigil([tmp_path], Options())
    path = save(tmp_path, 1000)
    vigil.poll()
    vigil.poll()
    shutil.copy(path, tmp_path / "step_2000.npz")
    vigil.poll()

    assert "step-not-advancing" in [finding.name for finding in vigil.poll().findings]


def test_what_stands_is_said_of_a_checkpoint_with_nothing_new(tmp_path):
    """The NaN of an earlier save is in the newest one too, and the summary is not "no findings"."""
    vigil = Vigil([tmp_path], Options())
    save(tmp_path, 1000, bad=True)
    vigil.poll()
    vigil.poll()
    save(tmp_path, 2000, bad=True)
    vigil.poll()

    news = vigil.poll()

    assert news.findings == ()
    assert summary(news) == "nothing new; 1 error stands since step_1000 (JD301), 1 checkpoint examined"


@pytest.mark.parametrize(("bad", "code"), [(True, 1), (False, 0)])
def test_ctrl_c_ends_with_the_code_of_what_was_found(tmp_path, monkeypatch, bad, code):
    """Reports go out as checkpoints come; the file at the end holds all of them."""
    save(tmp_path, 1000, bad=bad)
    stated, looks = io.StringIO(), []
    monkeypatch.setattr(sys, "stdout", stated)

    def pause(seconds):
        looks.append(seconds)
        if len(looks) == 3:
            save(tmp_path, 2000)
        if len(looks) == 6:
            raise KeyboardInterrupt

    out = tmp_path / "report.json"
    ended = watch([tmp_path], Options(), [("markdown", tmp_path / "report.md"), ("json", out)], pause=pause)

    assert ended == code
    assert [saved["step"] for saved in json.loads(out.read_text())["checkpoints"]] == [1000, 2000]


def test_a_fingerprint_sees_size_and_time(tmp_path):
    path = save(tmp_path, 1000)
    before = fingerprint(tmp_path)

    os.utime(path, (1, 2_000_000_000))

    assert fingerprint(tmp_path) != before
