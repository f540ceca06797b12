"""Repeated findings made one, and the checkpoint to go back to."""

import os

import numpy as np

from jaxdoctor.checkpoints.repeats import together
from jaxdoctor.facts.finding import Finding, Location, Severity
from tests.builders import checkpoint, scanned

RANDOM = np.random.default_rng(0).normal(size=(30, 4)).astype("float32")


def save_run(folder, ill_steps, steps=(100, 200, 300, 400)):
    """A run of npz files a minute apart, of which some hold NaN."""
    for index, step in enumerate(steps):
        weights = RANDOM + np.float32(step)
        if step in ill_steps:
            weights[2] = np.nan
        path = folder / f"step_{step}.npz"
        np.savez(path, w=weights)
        os.utime(path, (1_700_000_000 + 60 * index,) * 2)
    return folder


def missing(path, owner, message="a file is missing"):
    place = Location(path=path)
    return owner, Finding(
        code="JD334", name="missing-file", severity=Severity.ERROR, location=place, message=message
    )


def test_what_stays_ill_is_one_finding(tmp_path):
    """The same NaN in three checkpoints is told once, with the later ones counted."""
    (finding,) = scanned(save_run(tmp_path, {200, 300, 400}))

    assert finding.message.endswith("; also in 2 later checkpoints")
    assert len(finding.evidence["also_in"]) == 2


def test_several_files_of_one_checkpoint_are_no_later_checkpoints():
    saved = checkpoint()
    judged = [
        missing(f"model/{index}-of-6.safetensors", saved, f"{index}-of-6 is missing") for index in (1, 2, 3)
    ]

    (finding,) = together(judged)

    assert finding.message == (
        "1-of-6 is missing; also in 2 other files (2-of-6.safetensors, 3-of-6.safetensors)"
    )


def test_all_leaves_are_told():
    """How many a terminal shows is the terminal's business."""
    saved = checkpoint()
    judged = [
        (
            saved,
            Finding(
                code="JD301",
                name="n",
                severity=Severity.ERROR,
                location=Location(leaf=f"w{index}"),
                message="",
            ),
        )
        for index in range(100)
    ]

    assert len(together(judged)) == 100


def test_the_newest_clean_checkpoint_is_named(tmp_path):
    (finding,) = scanned(save_run(tmp_path, {300, 400}))

    assert finding.fix == "resume from `step_200.npz`, the last clean checkpoint, with jax_debug_nans=True"
    assert finding.evidence["last_clean"] == str(tmp_path / "step_200.npz")


def test_where_none_is_clean_that_is_said(tmp_path):
    (finding,) = scanned(save_run(tmp_path, {100, 200, 300, 400}))

    assert finding.fix.endswith("; no checkpoint of this run is clean")


def test_one_checkpoint_has_no_other_to_go_back_to(tmp_path):
    (finding,) = scanned(save_run(tmp_path, {100}, steps=(100,)))

    assert "last_clean" not in finding.evidence


def test_a_clean_checkpoint_that_is_later_is_called_so(tmp_path):
    """Where one in the middle is cut off, the newest is there to go on from."""
    run = save_run(tmp_path, set(), steps=(100, 200, 300))
    middle = tmp_path / "step_200.npz"
    middle.write_bytes(middle.read_bytes()[:-40])

    (fix,) = [finding.fix for finding in scanned(run) if finding.name == "truncated-file"]

    assert fix.endswith("; a later checkpoint is clean: `step_300.npz`")
