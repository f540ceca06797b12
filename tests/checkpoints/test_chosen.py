"""Which checkpoints are scanned, and what would be."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.scan import scan
from jaxdoctor.cli import build
from jaxdoctor.errors import NothingExaminedError


@pytest.fixture
def tree(tmp_path):
    for name in ("a/step_1.npz", "a/step_2.npz", "a/buffer.npz", "b/old/step_1.npz"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, w=np.random.default_rng(len(name)).normal(size=(4, 3)).astype("float32"))
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(build(), ["scan-checkpoint", *map(str, arguments)], catch_exceptions=False)


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({}, {"a/step_1.npz", "a/step_2.npz", "a/buffer.npz", "b/old/step_1.npz"}),
        ({"exclude": ("*buffer*",)}, {"a/step_1.npz", "a/step_2.npz", "b/old/step_1.npz"}),
        ({"exclude": ("old/",)}, {"a/step_1.npz", "a/step_2.npz", "a/buffer.npz"}),
        ({"include": ("step_*",)}, {"a/step_1.npz", "a/step_2.npz", "b/old/step_1.npz"}),
        ({"include": ("a/*",), "exclude": ("step_2*",)}, {"a/step_1.npz", "a/buffer.npz"}),
    ],
)
def test_patterns_choose(tree, options, left):
    report = scan([tree], Options(**options))

    assert {saved.path.removeprefix(f"{tree}/") for saved in report.checkpoints} == left


def test_patterns_that_leave_nothing_are_an_error(tree):
    with pytest.raises(NothingExaminedError, match="leave none of the 4 checkpoints"):
        scan([tree], Options(include=("*.pt",)))


def test_a_dry_run_says_what_would_be_read_and_reads_nothing(tree):
    done = run(tree, "--dry-run", "--exclude", "b")

    assert done.exit_code == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [(row[0], row[-1].removeprefix(f"{tree}/")) for row in rows] == [
        ("npz", "a/buffer.npz"),
        ("npz", "a/step_1.npz"),
        ("npz", "a/step_2.npz"),
    ]
    assert int(rows[0][1].replace(",", "")) == (tree / "a" / "buffer.npz").stat().st_size


def test_leaves_are_listed_where_they_are_asked_for(tree):
    path = tree / "b" / "old" / "step_1.npz"

    (without,) = json.loads(run(path, "--format", "json").stdout)["checkpoints"]
    (listing,) = json.loads(run(path, "--format", "json", "--leaves").stdout)["checkpoints"]

    assert "leaves_detail" not in without
    (leaf,) = listing["leaves_detail"]
    values = np.load(path)["w"]
    assert (leaf["path"], leaf["dtype"], leaf["shape"], leaf["role"]) == ("w", "float32", [4, 3], "parameter")
    assert (leaf["minimum"], leaf["maximum"]) == (values.min(), values.max())
    assert (leaf["zeros"], leaf["nonfinite"], leaf["seen"]) == (0, 0, 12)
    assert "4x3" in run(path, "--leaves").stdout


def test_what_was_sampled_is_said(tmp_path):
    """In the last line of every format, and as numbers in JSON."""
    path = tmp_path / "large.npz"
    weights = np.random.default_rng(0).normal(size=(400, 400)).astype("float32")
    np.savez(path, w=weights, b=np.ones(3, "float32"))

    assert "no findings in the 10.2 % that was read" in run(path).stdout
    assert "; 1 leaf was sampled, --deep reads all" in run(path).stdout
    assert "was sampled" not in run(path, "--deep").stdout
    assert "no findings in metadata" in run(path, "--metadata-only").stdout
    for form in ("markdown", "github", "junit", "sarif", "html"):
        written = run(path, "--format", form).stdout
        assert "deep reads all" in written, form
    covered = json.loads(run(path, "--format", "json").stdout)["coverage"]
    assert (covered["leaves"], covered["sampled"]) == (2, 1)
