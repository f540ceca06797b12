"""Scans of real files, from the command line to the exit code."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from jaxdoctor.checkpoints import scan as scanning
from jaxdoctor.checkpoints.options import Options
from jaxdoctor.checkpoints.reader import READERS
from jaxdoctor.checkpoints.scan import scan
from jaxdoctor.cli import build
from jaxdoctor.errors import NothingExaminedError, UnreadableError, UsageError


def run(*arguments, stdin=None):
    return CliRunner().invoke(
        build(), ["scan-checkpoint", *map(str, arguments)], input=stdin, catch_exceptions=False
    )


def report(*arguments, **options):
    return json.loads(run(*arguments, "--format", "json", **options).stdout)


def names(found):
    return sorted(finding["name"] for finding in found["findings"])


def save(path, **arrays):
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays)
    return path


def save_run(folder, values, **arrays):
    """A run of npz files, one second apart, whose counter takes these values."""
    for index, value in enumerate(values, 1):
        path = save(folder / f"step_{index * 1000}.npz", env_steps=np.int32(value), **arrays)
        os.utime(path, (1_700_000_000 + index, 1_700_000_000 + index))
    return folder


WEIGHTS = np.random.default_rng(0).standard_normal((30, 40)).astype(np.float32)


def test_a_healthy_file_is_silent(tmp_path):
    path = save(tmp_path / "step_7.npz", w=WEIGHTS, step=np.int32(7))

    done = run(path)

    assert done.exit_code == 0
    assert "no findings" in done.stdout


def test_nan_is_found_and_fails(tmp_path):
    """The exit code is 1, and the place of the value is told."""
    bad = WEIGHTS.copy()
    bad[3, 5] = np.nan
    path = save(tmp_path / "bad.npz", w=bad)

    done = run(path, "--format", "json")

    assert done.exit_code == 1
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["name"] == "nonfinite-values"
    assert finding["location"]["leaf"] == "w"
    assert finding["evidence"]["first"] == 3 * 40 + 5


def test_a_run_folder_is_a_series(tmp_path):
    """The counter falls between two files, in the order in which they were written."""
    folder = save_run(tmp_path / "run", [666894336, 1333788672, 2000683008, -1627389952])

    assert names(report(folder)) == ["counter-wrapped"]


def test_the_speed_of_a_run_is_told(tmp_path):
    """A thousand steps a second, from the times at which the files were written."""
    folder = save_run(tmp_path / "run", [1, 2, 3])

    words = " ".join(run(folder).stdout.split())

    assert "3 checkpoints, steps 1,000 to 3,000, 1,000 a second" in words


def test_without_a_series_each_file_stands_alone(tmp_path):
    folder = save_run(tmp_path / "run", [1333788672, 2000683008, 373293056])

    assert names(report(folder)) == ["counter-wrapped"]
    assert names(report(folder, "--no-series")) == ["counter-near-limit"]


def test_files_of_any_name_can_be_one_series(tmp_path):
    first = save(tmp_path / "a.npz", w=WEIGHTS)
    second = save(tmp_path / "b.npz", w=WEIGHTS.astype(np.float16))

    assert names(report(first, second)) == []
    assert names(report(first, second, "--series")) == ["dtype-changed"]


def test_one_bad_file_does_not_end_the_scan(tmp_path):
    save_run(tmp_path, [1, 2])
    (tmp_path / "step_3000.npz").write_bytes((tmp_path / "step_2000.npz").read_bytes()[:200])

    found = report(tmp_path)

    assert len(found["checkpoints"]) >= 2
    assert found["findings"]


def test_an_unfinished_save_is_told_and_not_counted(tmp_path):
    save_run(tmp_path, [1, 2])
    (tmp_path / "3000.orbax-checkpoint-tmp").mkdir()

    found = report(tmp_path)

    assert names(found) == ["unfinished-save"]
    assert len(found["checkpoints"]) == 2


def test_a_folder_with_nothing_but_an_unfinished_save_examines_nothing(tmp_path):
    (tmp_path / "3000.orbax-checkpoint-tmp").mkdir()

    assert run(tmp_path).exit_code == 3


@pytest.mark.parametrize("kind", ["folder", "text"])
def test_what_is_no_checkpoint_is_an_error(tmp_path, kind):
    path = tmp_path / "thing"
    if kind == "folder":
        path.mkdir()
    else:
        path.write_text("hello")

    with pytest.raises(NothingExaminedError) as caught:
        run(path)

    assert "safetensors" in caught.value.hint
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ["missing.npz"],
        ["gs://bucket/run"],
        [".", "--deep", "--metadata-only"],
        [".", "--role", "visits"],
        [".", "--expect-dtype", "parameter"],
        [".", "--max-memory", "much"],
    ],
)
def test_misuse_is_said(arguments):
    with pytest.raises(UsageError) as caught:
        run(*arguments)

    assert caught.value.exit_code == 2


def test_names_come_from_stdin(tmp_path):
    path = save(tmp_path / "a.npz", w=WEIGHTS)

    assert len(report("-", stdin=f"{path}\n")["checkpoints"]) == 1


def test_metadata_only_reads_no_values(tmp_path):
    path = save(tmp_path / "a.npz", w=np.full(4, np.nan, np.float32))

    found = report(path, "--metadata-only")

    assert names(found) == []
    assert found["checkpoints"][0]["leaves"] == 1


def test_deep_finds_what_a_sample_misses(tmp_path):
    large = np.zeros(1 << 20, np.float32)
    large[777_777] = np.inf
    path = save(tmp_path / "a.npz", w=large)

    assert names(report(path)) == []
    (finding,) = report(path, "--deep")["findings"]
    assert finding["evidence"]["first"] == 777_777


def test_the_user_can_tell_a_role(tmp_path):
    path = save(tmp_path / "a.npz", visits=np.int32(-2_000_000_000))

    assert names(report(path)) == []
    assert names(report(path, "--role", "visits=counter")) == ["counter-wrapped"]


def test_the_user_can_expect_a_dtype(tmp_path):
    path = save(tmp_path / "a.npz", w=WEIGHTS.astype(np.float16))

    assert names(report(path, "--expect-dtype", "param=float32")) == ["unexpected-dtype"]


def test_planned_steps_are_judged_before_they_are_run(tmp_path):
    path = save(tmp_path / "step_1000000.npz", env_steps=np.int32(1_000_000))

    assert names(report(path, "--planned-steps", 10_000_000_000)) == ["counter-near-limit"]
    assert names(report(path, "--planned-steps", 1_000_000_000)) == []


def test_bfloat16_hidden_in_float32_is_found(tmp_path):
    narrow = (WEIGHTS.view(np.uint32) & 0xFFFF0000).view(np.float32)
    path = save(tmp_path / "a.npz", w=narrow)

    (finding,) = report(path)["findings"]

    assert (finding["name"], finding["severity"]) == ("hidden-truncation", "note")


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (RecursionError(), "hostile-content"),
        (MemoryError(), "hostile-content"),
        (ZeroDivisionError("by zero"), "unreadable-file"),
        (UnreadableError("cut", hint="copy again"), "unreadable-file"),
    ],
)
def test_whatever_a_reader_does_the_others_are_judged(tmp_path, monkeypatch, error, name):
    """The last safety net: a file that breaks its reader is a finding."""
    save_run(tmp_path, [1, 2])
    load, reader = READERS.load, READERS.load("npz")

    def read(path, budget):
        if path.name == "step_1000.npz":
            raise error
        return reader.read(path, budget)

    broken = replace(reader, read=read)
    monkeypatch.setattr(READERS, "load", lambda wanted: broken if wanted == "npz" else load(wanted))

    found = scan([tmp_path], Options())

    assert [finding.name for finding in found.findings] == [name]
    assert len(found.checkpoints) == 1


def test_a_file_without_permission_is_a_finding(tmp_path, monkeypatch):
    """Root may read everything, so the answer of the operating system is played."""
    save_run(tmp_path, [1, 2])
    opened = os.open

    def refusing(path, *args, **kwargs):
        if Path(path).name == "step_1000.npz":
            raise PermissionError
        return opened(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refusing)
    monkeypatch.setattr(os, "access", lambda path, _: Path(path).name != "step_1000.npz")

    assert names(report(tmp_path)) == ["unreadable-file"]


def test_progress_of_a_deep_scan_counts_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(scanning, "ANNOUNCED_BYTES", 1 << 20)
    path = save(tmp_path / "a.npz", w=np.zeros(1 << 20, np.float32))
    said = []

    class Heard:
        def stage(self, title, total=None):
            said.append((title, total))

        def reached(self, amount):
            said.append(amount)

    scan([path], Options(depth=scanning.Depth.ALL), Heard())

    assert said[-1] == 4 << 20
    assert said[-2] == ("a.npz (1 of 1): 4 MiB of 4 MiB", 4 << 20)


def test_a_scan_imports_nothing_heavy(tmp_path):
    """In a fresh interpreter no framework is imported, nor tensorstore for what is no zarr."""
    save(tmp_path / "a.npz", w=WEIGHTS)
    code = (
        "import sys\n"
        f"sys.argv = ['jaxdoctor', 'scan-checkpoint', {str(tmp_path)!r}]\n"
        "from jaxdoctor.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'jax', 'mujoco', 'orbax', 'flax', 'torch', 'tensorstore'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(scanning.__file__).parents[1],
    )

    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**400, -(10**400)])
def test_a_count_of_any_value_ends_no_scan(tmp_path, value):
    """Python numbers in a pickle, beyond what any type of an array holds."""
    import pickle

    for step in (1, 2, 3):
        state = {"step": value, "global_step": value, "ema": {"num_updates": value}, "scale": value}
        (tmp_path / f"state_{step}.pkl").write_bytes(pickle.dumps(state | {"w": WEIGHTS * step}))

    assert run(tmp_path).exit_code in {0, 1}


def test_steps_that_are_links_to_files_elsewhere(tmp_path):
    """They are read where they lie, under the names of the links, once each; named alone as well."""
    run, disk = tmp_path / "run", tmp_path / "disk"
    run.mkdir()
    disk.mkdir()
    for step, name in ((1000, "step_1000.npz"), (2000, "blob.npz")):
        np.savez(
            disk / name,
            w=np.ones(3, np.float32) * step,
            count=np.int32(step if step < 2000 else -2_000_000_000),
        )
        (run / f"step_{step}.npz").symlink_to(disk / name)
    (run / "best.npz").symlink_to(disk / "step_1000.npz")

    report = scan([run], Options())

    assert report.skipped == ()
    assert {(Path(one.path).name, one.step) for one in report.checkpoints} == {
        ("best.npz", 1000),
        ("step_2000.npz", 2000),
    }
    alone = scan([run / "step_2000.npz"], Options())
    assert [one.name for one in alone.findings] == ["counter-wrapped"]
    assert (alone.skipped, alone.checkpoints[0].step) == ((), 2000)


def test_a_link_to_an_empty_file_elsewhere(tmp_path):
    run, disk = tmp_path / "run", tmp_path / "disk.npz"
    run.mkdir()
    disk.touch()
    (run / "step_1.npz").symlink_to(disk)

    (finding,) = scan([run], Options()).findings

    assert finding.name == "truncated-file"
