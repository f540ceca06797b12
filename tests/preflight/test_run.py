"""`preflight` as a process, on real checkpoints and update functions; rollouts stand in the slow lane."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from jaxdoctor.config.settings import Config, ProbeEntry, ScanEntry
from jaxdoctor.errors import ConfigError, UnknownNameError
from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Finding, Location, Severity
from jaxdoctor.facts.leaf import Leaf
from jaxdoctor.facts.report import Report
from jaxdoctor.preflight.cards import for_cards
from jaxdoctor.preflight.memory import WHOLE_BYTES, Memory, _files, _state
from jaxdoctor.preflight.run import Choice, _demanding, _with_the_rest, preflight
from jaxdoctor.preflight.subjects import subjects
from tests.paths import ROOT
from tests.sample_reports import HAND, WALKER

PREFLIGHT = (sys.executable, "-m", "jaxdoctor", "preflight")

UPDATE = """
import jax.numpy as jnp

def make():
    def update(state):
        return {"w": state["w"] * 0.9, "count": state["count"] + 1}
    return update, {"w": jnp.zeros(3), "count": jnp.zeros((), "int32")}
"""

CONFIG = """
scan:
  - path: runs
update:
  - target: update.py:make
time-limit: 120
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A project with one ill and one healthy checkpoint, and an update function."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "runs").mkdir()
    np.savez(tmp_path / "runs" / "step_100.npz", w=np.ones(3, "f4"))
    np.savez(tmp_path / "runs" / "step_200.npz", w=np.array([1, np.nan, 3], "f4"))
    (tmp_path / "update.py").write_text(UPDATE)
    (tmp_path / "jaxdoctor.yaml").write_text(CONFIG)
    return tmp_path


def run(*arguments):
    return subprocess.run(
        [*PREFLIGHT, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def report(*arguments):
    done = run("--format", "json", *arguments)
    return done.returncode, json.loads(done.stdout)


def test_a_scan_and_an_update_come_together_in_one_report(place):
    code, document = report("--only", "scan", "--only", "update")

    assert code == document["exit_code"] == 1
    assert document["command"] == "preflight"
    assert [finding["code"] for finding in document["findings"] if finding["severity"] == "error"] == [
        "JD301"
    ]
    assert [saved["path"] for saved in document["checkpoints"]] == ["runs/step_100.npz", "runs/step_200.npz"]
    assert [signature["target"] for signature in document["signatures"]] == ["update.py:make"]


def test_it_runs_from_below_and_names_paths_from_there(place, monkeypatch):
    """The configuration is found upwards; its paths start from its own folder."""
    (place / "deep").mkdir()
    monkeypatch.chdir(place / "deep")

    _, document = report("--only", "scan")

    assert document["findings"][0]["location"]["path"] == "../runs/step_200.npz"


def test_a_baseline_lets_what_is_known_pass_and_fails_on_what_is_new(place):
    assert run("--only", "scan", "--write-baseline", "known.json").returncode == 0

    code, document = report("--only", "scan", "--baseline", "known.json")
    assert (code, document["findings"]) == (0, [])
    assert document["ignored"][0]["reason"] == "in the baseline known.json"

    np.savez(place / "runs" / "step_300.npz", w=np.ones(3, "f4"), b=np.array([np.inf], "f4"))
    code, document = report("--only", "scan", "--baseline", "known.json")
    assert code == 1
    assert "b" in [finding["location"]["leaf"] for finding in document["findings"]]


def test_what_is_unchanged_is_taken_from_an_earlier_run_and_said(place):
    _, first = report("--only", "scan", "--changed-only")
    _, second = report("--only", "scan", "--changed-only")

    assert "reused" not in first
    assert [one["subject"] for one in second["reused"]] == ["runs"]
    assert "skipped" not in second
    for key in ("findings", "checkpoints", "examined", "exit_code"):
        assert second[key] == first[key]

    np.savez(place / "runs" / "step_200.npz", w=np.zeros(3, "f4"))
    _, third = report("--only", "scan", "--changed-only")
    assert "reused" not in third
    assert third["findings"] == []


def test_without_changed_only_nothing_is_kept(place):
    run("--only", "scan")

    assert not (place / "cache").exists()


def test_a_change_of_versions_or_settings_is_a_change(place, monkeypatch):
    (scan,) = subjects(Config(scans=(ScanEntry(path="runs"),), path=place / "x"), 1, ("scan",))
    memory = Memory(place / "memory")
    memory.keep(scan, Report(command="scan-checkpoint", subject="runs", examined=1))
    assert memory.recall(scan) is not None

    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    assert memory.recall(scan) is None

    monkeypatch.delenv("JAX_ENABLE_X64")
    monkeypatch.setattr("jaxdoctor.preflight.memory.versions_examined", lambda: {"jax": "99"})
    assert memory.recall(scan) is None


@pytest.mark.parametrize("pattern", ["runs/*.npz", "{}/runs/*.npz"])
def test_a_file_that_a_glob_newly_matches_is_a_change(place, pattern):
    entry = ScanEntry(path=pattern.format(place))
    memory = Memory(place / "memory")
    (scan,) = subjects(Config(scans=(entry,), path=place / "x"), 1, ("scan",))
    memory.keep(scan, Report(command="scan-checkpoint", subject="runs", examined=1))
    assert memory.recall(scan) is not None

    np.savez(place / "runs" / "step_300.npz", w=np.ones(3, "f4"))

    assert memory.recall(scan) is None


def test_an_ignored_finding_shows_its_reason_and_does_not_fail(place):
    (place / "jaxdoctor.yaml").write_text(
        CONFIG + "ignore:\n- {rule: JD3, path: runs/*, reason: known since May}\n"
    )

    code, document = report("--only", "scan")

    assert code == 0
    assert document["ignored"][0]["reason"] == "known since May"
    assert "(known since May)" in run("--only", "scan").stdout


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("scan:\n- path: runs\n- path: nowhere", "jaxdoctor.yaml:3: nowhere does not exist"),
        ("scan:\n- path: runs\n- path: runs/*.npy", "jaxdoctor.yaml:3: nothing matches runs/*.npy"),
        ("scan:\n- path: runs\nprobe:\n- model: nope.xml", "jaxdoctor.yaml:4: nope.xml does not exist"),
        ("probe:\n- {scenario: hand, controls: no.npy}", "jaxdoctor.yaml:2: no.npy does not exist"),
        ("update:\n- target: nowhere.py:make", "jaxdoctor.yaml:2: nowhere.py does not exist"),
        ("probe:\n- scenario: handd", "jaxdoctor.yaml:2: there is no scenario named 'handd'"),
        ("probe:\n- {scenario: hand, cards: [rtx-4091]}", "jaxdoctor.yaml:2: there is no card named"),
        ("machine: {cards: [rtx-4091]}", "jaxdoctor.yaml: there is no card named 'rtx-4091'"),
        ("scan:\n- path: runs\n  role: {x: countr}", "jaxdoctor.yaml:2: there is no role named 'countr'"),
    ],
)
def test_what_is_named_and_not_there_is_an_error_of_the_configuration(place, entry, message):
    (place / "jaxdoctor.yaml").write_text(f"{entry}\n")

    done = run()

    assert done.returncode == 2
    assert done.stdout == ""
    assert f"error: {message}" in done.stderr


def test_a_function_that_is_not_there_is_misuse_and_leaves_the_rest(place):
    """Only importing the file tells, so what was found before is still reported."""
    (place / "jaxdoctor.yaml").write_text("scan:\n- path: runs\nupdate:\n- target: update.py:mak\n")

    code, document = report("--only", "scan", "--only", "update")

    assert code == document["exit_code"] == 2
    assert document["findings"][0]["code"] == "JD301"
    assert document["skipped"][0]["misuse"]
    assert "jaxdoctor.yaml:4: " in document["skipped"][0]["reason"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda place: [path.unlink() for path in (place / "runs").iterdir()],
        lambda place: (place / "runs" / "step_100.npz").rename(place / "runs" / "notes.txt"),
    ],
    ids=["an empty folder", "nothing that is a checkpoint"],
)
def test_a_folder_without_a_checkpoint_is_no_success(place, spoil):
    spoil(place)
    (place / "runs" / "step_200.npz").unlink(missing_ok=True)
    if (place / "runs" / "notes.txt").exists():
        (place / "runs" / "notes.txt").write_text("nothing")

    code, document = report("--only", "scan")

    assert code == document["exit_code"] == 3
    assert document["skipped"][0]["subject"] == "runs"
    assert document["not_examined"] == 1


def test_a_subject_that_was_not_judged_fails_although_another_is_well(place):
    (place / "runs" / "step_200.npz").unlink()
    (place / "empty").mkdir()
    config = "scan:\n- path: runs\n- path: empty\n"
    (place / "jaxdoctor.yaml").write_text(config)

    done = run("--only", "scan")
    assert done.returncode == 3
    assert "no findings, configured by jaxdoctor.yaml, 1 checkpoint examined, 1 not examined" in done.stdout

    allowed = "allow-unknown:\n- {subject: empty, reason: filled by the nightly run}\n"
    (place / "jaxdoctor.yaml").write_text(config + allowed)
    done = run("--only", "scan")
    assert done.returncode == 0
    assert "1 not examined" in done.stdout
    assert "filled by the nightly run" in done.stdout


def test_a_worker_that_crashes_or_hangs_fails_the_run(place):
    (place / "runs" / "step_200.npz").unlink()
    (place / "update.py").write_text("import os\nos._exit(9)\n")
    code, document = report("--only", "scan", "--only", "update")
    assert code == 3
    assert document["skipped"][0]["subject"] == "update.py:make"

    (place / "update.py").write_text("import time\ntime.sleep(60)\n")
    (place / "jaxdoctor.yaml").write_text(CONFIG.replace("make", "make\n    time-limit: 2"))
    code, document = report("--only", "scan", "--only", "update")
    assert code == 3
    assert "did not end within 2 s" in document["skipped"][0]["reason"]


def test_a_baseline_of_another_folder_holds(place, monkeypatch):
    """Written below the root, used from the root and from a folder beside it."""
    (place / "jaxdoctor.yaml").rename(place / "root.yaml")
    sub = place / "sub"
    sub.mkdir()
    (place / "runs").rename(sub / "runs")
    (sub / "jaxdoctor.yaml").write_text("scan:\n- path: runs\nbaseline: bl.json\n")
    monkeypatch.chdir(sub)
    assert run("--only", "scan", "--write-baseline", "bl.json").returncode == 0
    assert run("--only", "scan").returncode == 0

    (place / "beside").mkdir()
    for folder in (place, place / "beside"):
        monkeypatch.chdir(folder)
        done = run("--only", "scan", "--config", os.path.relpath(sub / "jaxdoctor.yaml"))
        assert (done.returncode, "1 ignored" in done.stdout) == (0, True)


def test_a_baseline_that_the_configuration_names_can_be_written(place):
    (place / "jaxdoctor.yaml").write_text(CONFIG + "baseline: known.json\n")

    assert run("--only", "scan").returncode == 2
    assert run("--only", "scan", "--write-baseline", "known.json").returncode == 0
    assert run("--only", "scan").returncode == 0


def test_an_error_of_an_unchanged_subject_fails_again(place):
    assert run("--only", "scan", "--changed-only").returncode == 1
    assert run("--only", "scan", "--changed-only").returncode == 1


def test_what_does_not_fit_into_the_time_is_said(place):
    config = Config(path=place / "jaxdoctor.yaml", scans=(ScanEntry(path="runs"),), time_limit=0.5)

    found = preflight(config, Choice(only=("scan",)))

    assert [one.reason for one in found.skipped] == ["the time limit of 0.5 s was reached before it began"]
    assert found.exit_code(Severity.ERROR) == 3


def test_cheap_comes_before_dear(place):
    config = Config(
        path=place / "x",
        scans=(ScanEntry(path="a", depth="deep"), ScanEntry(path="b", depth="metadata-only")),
    )

    (place / "a").touch()
    (place / "b").touch()

    assert [one.name for one in subjects(config, 2)] == ["this machine", "b", "a"]


def test_level_one_leaves_rollouts_out(place):
    (place / "m.xml").touch()
    config = Config(path=place / "x", probes=(ProbeEntry(model="m.xml", cards=("a100", "here")),))

    assert [one.name for one in subjects(config, 1)] == ["this machine"]
    assert [one.name for one in subjects(config, 2)] == ["this machine", "m.xml on a100", "m.xml"]


def test_only_that_names_nothing_is_refused(place):
    with pytest.raises(UnknownNameError, match="no subject named 'runz'"):
        subjects(Config(path=place / "x", scans=(ScanEntry(path="runs"),)), 1, ("runz",))


def test_what_the_level_leaves_out_is_said_and_strict_fails_on_it(place):
    (place / "m.xml").touch()
    config = Config(path=place / "x", probes=(ProbeEntry(model="m.xml"),), level=1)
    beyond = _with_the_rest(Report(command="preflight", subject="x", examined=1), config, Choice(), 1)

    assert [(one.subject, one.asked) for one in beyond.skipped] == [("m.xml", False)]
    assert beyond.exit_code(Severity.ERROR) == 0
    assert replace(beyond, strict=True).exit_code(Severity.ERROR) == 3


def test_only_a_kind_without_entries_is_refused_in_its_own_words(place):
    with pytest.raises(ConfigError, match="has no entry of 'update', which --only names"):
        subjects(Config(path=place / "x", scans=(ScanEntry(path="runs"),)), 1, ("update",))


def test_a_file_behind_a_linked_folder_is_part_of_what_may_change(place):
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / "step_1.npz").write_bytes(b"1")
    (place / "runs" / "linked").symlink_to(place / "elsewhere")
    (place / "runs" / "linked" / "loop").symlink_to(place / "runs")

    before = dict(_files([Path("runs")]))
    (place / "elsewhere" / "step_1.npz").write_bytes(b"2")

    assert {name for name, state in _files([Path("runs")]) if before[name] != state} == {
        "runs/linked/step_1.npz"
    }


def test_a_large_file_that_got_its_old_time_back_has_changed(place):
    file = place / "runs" / "step_300.npz"
    file.write_bytes(b"1" * (WHOLE_BYTES + 1))
    before, stat = _state(file), file.stat()

    file.write_bytes(b"2" * (WHOLE_BYTES + 1))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    assert _state(file) != before


def test_bfloat16_is_judged_for_the_cards_of_the_configuration():
    leaf = Leaf(path="w", dtype="bfloat16", shape=(2,))
    one = Report(
        command="preflight",
        subject="x",
        examined=1,
        checkpoints=(Checkpoint(path="run/1", format="npz", leaves=(leaf,)),),
    )

    found = for_cards(one, ("t4", "h100", "here")).findings

    assert [(finding.code, finding.evidence["card"]) for finding in found] == [("JD130", "t4")]


def test_a_demanded_margin_is_judged(place):
    both = Report(command="preflight", subject="x", examined=2, outcomes=(HAND, WALKER))

    found = _demanding(both, Config(margin_bits=5)).findings

    assert [(one.code, one.location.path) for one in found] == [("JD290", "models/hand.xml")]


def test_a_machine_that_every_probe_looks_at_is_told_once():
    from jaxdoctor.preflight.run import _together

    same = Finding(
        code="JD101", name="tf32-by-default", severity=Severity.NOTE, location=Location(path="x"), message="m"
    )
    (machine,) = subjects(Config(), 1)
    one = Report(command="probe", subject="x", examined=1, findings=(same,))

    assert len(_together([(machine, one), (machine, one)], [], partial=False).findings) == 1


def test_without_a_configuration_the_way_to_one_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    done = run()

    assert done.returncode == 2
    assert "there is no jaxdoctor.yaml here or above" in done.stderr
    assert run("--init").returncode == 0
    assert run("--init").returncode == 2
    assert (tmp_path / "jaxdoctor.yaml").exists()


def test_ctrl_c_prints_what_was_found_until_then(place):
    """The scan has ended and the update hangs when the signal comes."""
    (place / "update.py").write_text("import time, pathlib\npathlib.Path('began').touch()\ntime.sleep(60)\n")
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "jaxdoctor",
            "preflight",
            "--format",
            "json",
            "--only",
            "scan",
            "--only",
            "update",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    deadline = time.monotonic() + 60
    while not (place / "began").exists() and time.monotonic() < deadline:
        time.sleep(0.05)

    process.send_signal(signal.SIGINT)

    stdout, stderr = process.communicate(timeout=30)
    document = json.loads(stdout)
    assert (process.returncode, document["exit_code"], document["partial"]) == (130, 130, True)
    assert "interrupted" in stderr
    assert document["findings"][0]["code"] == "JD301"
    assert document["skipped"] == [{"subject": "update.py:make", "reason": "interrupted", "asked": True}]
