"""Ctrl-C: what was found until then is reported as partial, and what was not is named."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from jaxdoctor.checkpoints import scan
from jaxdoctor.facts.delivery import Deliveries
from jaxdoctor.facts.environment import Software
from jaxdoctor.facts.finding import Severity
from jaxdoctor.machine.judged import Machine
from jaxdoctor.models.scenario import SCENARIOS, scenario_path
from jaxdoctor.probe import run as probe
from jaxdoctor.probe import self_test
from jaxdoctor.probe.ask import Ask
from tests.environments import environment


def test_a_scan_keeps_the_checkpoints_that_it_read(tmp_path, monkeypatch):
    """The signal comes while the second of three is read."""
    for step in (100, 200, 300):
        np.savez(tmp_path / f"step_{step}.npz", w=np.array([np.nan], "f4"))
    read = scan.read_checkpoint

    def interrupted(found, *rest):
        if found.path.name == "step_200.npz":
            raise KeyboardInterrupt
        return read(found, *rest)

    monkeypatch.setattr(scan, "read_checkpoint", interrupted)

    report = scan.scan([tmp_path], scan.Options())

    assert report.partial
    assert report.examined == 1
    assert [finding.code for finding in report.findings] == ["JD301"]
    assert [one.subject.rpartition("/")[2] for one in report.skipped] == ["step_200.npz", "step_300.npz"]
    assert report.exit_code(Severity.ERROR) == 130


@pytest.fixture
def machine(monkeypatch):
    """A machine that was looked at, and a rollout that is interrupted."""
    seen = Machine(
        environment=environment(),
        software=Software(versions={}),
        deliveries=Deliveries(machine="x", products=()),
    )

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(probe, "examine_machine", lambda *_, **__: seen)
    monkeypatch.setattr(probe, "_prepared", lambda *_: None)
    monkeypatch.setattr(self_test, "examine", interrupted)
    monkeypatch.setattr(probe, "_replayed", interrupted)
    return seen


def test_a_probe_keeps_what_it_saw_of_the_machine(machine):
    report = probe.probe(Ask(model=str(scenario_path("hand")), subject="hand"))

    assert report.partial
    assert report.environment == machine.environment
    assert [(one.subject, one.reason) for one in report.skipped] == [("hand", "interrupted")]


def test_a_self_test_names_the_scenarios_that_are_left(machine):
    report = self_test.self_test(Ask(model="", subject=""))

    assert report.partial
    assert [one.subject for one in report.skipped] == SCENARIOS.names()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_real_rollout_ends_at_once_and_leaves_no_worker(number, code):
    """The signal comes while workers compile: the report comes within seconds, and nothing runs on."""
    process = subprocess.Popen(
        [sys.executable, "-m", "jaxdoctor", "probe", "--scenario", "quadruped", "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and "replay.sweep" not in _commands(process):
        time.sleep(0.2)
    workers = _children(process)

    process.send_signal(number)
    stdout, _ = process.communicate(timeout=20)

    assert process.returncode == code
    assert json.loads(stdout)["partial"] is True
    assert workers
    assert not [worker for worker in workers if _runs(worker)]


def test_a_terminated_scan_reports_what_it_read(tmp_path):
    """SIGTERM is what `timeout`, Slurm and a cancelled CI job send: a partial report, and 143."""
    for step in (100, 200):
        np.savez(tmp_path / f"step_{step}.npz", w=np.array([np.nan], "f4"))
    code = (
        "import os, signal, sys\n"
        "from jaxdoctor.checkpoints import scan\n"
        "read = scan.read_checkpoint\n"
        "def terminated(found, *rest):\n"
        "    if found.path.name == 'step_200.npz':\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return read(found, *rest)\n"
        "scan.read_checkpoint = terminated\n"
        f"sys.argv = ['jaxdoctor', 'scan-checkpoint', {str(tmp_path)!r}, '--format', 'json']\n"
        "from jaxdoctor.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 143
    assert "terminated" in done.stderr
    document = json.loads(done.stdout)
    assert document["partial"] is True
    assert document["exit_code"] == 143
    assert [finding["code"] for finding in document["findings"]] == ["JD301"]


def _commands(process):
    """The command lines of a process's children."""
    return subprocess.run(
        ["ps", "-ww", "--ppid", str(process.pid), "-o", "args="], capture_output=True, text=True, check=False
    ).stdout


def _children(process):
    return [
        int(each)
        for each in subprocess.run(
            ["ps", "--ppid", str(process.pid), "-o", "pid="], capture_output=True, text=True, check=False
        ).stdout.split()
    ]


def _runs(number):
    """Whether a process of that number exists and is no zombie."""
    done = subprocess.run(
        ["ps", "-p", str(number), "-o", "stat="], capture_output=True, text=True, check=False
    )
    return bool(done.stdout.strip()) and not done.stdout.strip().startswith("Z")
