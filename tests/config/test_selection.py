"""Which configuration applies to a command, and what its command line says instead."""

import json
import subprocess
import sys

import numpy as np
import pytest

from jaxdoctor.config.selection import Selection, configuration
from jaxdoctor.errors import ConfigError, UnknownNameError

IGNORED = "ignore:\n- {rule: JD301, path: runs, reason: known since May}\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A project whose only checkpoint holds a NaN, and a configuration."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    np.savez(tmp_path / "runs" / "step_1.npz", w=np.array([1, np.nan], "f4"))
    (tmp_path / "jaxdoctor.yaml").write_text(IGNORED)
    return tmp_path


def scan(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "jaxdoctor", "scan-checkpoint", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_every_command_reads_the_configuration_above_the_working_folder(place, monkeypatch):
    code, out, _ = scan("runs")
    assert code == 0
    assert "known since May" in out
    assert "configured by jaxdoctor.yaml, 1 checkpoint examined, 1 ignored" in out

    monkeypatch.chdir(place / "runs")
    code, out, _ = scan("step_1.npz")
    assert code == 0
    assert "configured by ../jaxdoctor.yaml" in out


def test_pyproject_counts_as_well(place):
    (place / "jaxdoctor.yaml").unlink()
    (place / "pyproject.toml").write_text(
        '[[tool.jaxdoctor.ignore]]\nrule = "JD301"\npath = "runs"\nreason = "known"\n'
    )

    assert scan("runs")[0] == 0


def test_a_configuration_inside_what_is_scanned_does_not_count(place, monkeypatch):
    """It may be that of whoever wrote the checkpoint."""
    (place / "runs" / "jaxdoctor.yaml").write_text("ignore:\n- {rule: JD301, reason: trust me}\n")
    (place / "jaxdoctor.yaml").unlink()
    assert scan("runs")[0] == 1

    monkeypatch.chdir(place / "runs")
    code, out, err = scan(".")
    assert code == 1
    assert "configured" not in out
    assert "jaxdoctor.yaml is inside what is scanned and does not count" in err
    assert scan(".", "--config", "jaxdoctor.yaml")[0] == 0


def test_the_command_line_replaces_what_is_ignored_or_adds_to_it(place):
    assert scan("runs", "--ignore", "JD4")[0] == 1
    assert scan("runs", "--extend-ignore", "JD4")[0] == 0
    code, out, _ = scan("runs", "--ignore", "JD301:runs/*=fixed in the next run")
    assert code == 0
    assert "fixed in the next run" in out
    assert scan("runs", "--ignore", "JD301:other/*")[0] == 1


def test_only_selected_rules_count(place):
    (place / "jaxdoctor.yaml").unlink()

    assert scan("runs", "--select", "JD4,JD5")[0] == 0
    assert scan("runs", "--select", "nonfinite-values")[0] == 1


def test_statistics_count_the_findings_of_each_rule(place):
    (place / "jaxdoctor.yaml").unlink()

    code, out, _ = scan("runs", "--statistics")
    assert code == 1
    assert ["1", "JD301", "error", "nonfinite-values"] in [line.split() for line in out.splitlines()]
    assert "at runs/step_1.npz" not in out
    document = json.loads(scan("runs", "--statistics", "--format", "json")[1])
    assert document["statistics"] == [
        {"code": "JD301", "name": "nonfinite-values", "severity": "error", "count": 1}
    ]


def test_a_configured_severity_and_fail_on_hold_for_every_command(place):
    (place / "jaxdoctor.yaml").write_text("severity: {JD301: warning}\n")
    assert scan("runs")[0] == 0
    assert scan("runs", "--fail-on", "warning")[0] == 1

    (place / "jaxdoctor.yaml").write_text("fail-on: never\n")
    assert scan("runs")[0] == 0


def test_strict_fails_on_what_was_only_met(place):
    (place / "jaxdoctor.yaml").unlink()
    np.savez(place / "runs" / "step_1.npz", w=np.array([1, 2], "f4"))
    (place / "runs" / "tmp_step_2").mkdir()

    code, out, _ = scan("runs", "--fail-on", "never")
    assert (code, "1 not examined" in out) == (0, True)
    assert scan("runs", "--strict", "--fail-on", "never")[0] == 3


def test_a_rule_that_does_not_exist_is_said_before_the_work(place):
    assert scan("runs", "--select", "JD9")[0] == 2
    with pytest.raises(UnknownNameError, match="no rule named 'nonfinit'"):
        configuration(Selection(ignore=("nonfinit",)))


@pytest.mark.parametrize("word", ["JD336", "hostile_content:*=all fine"])
def test_hostile_content_is_not_ignored_everywhere(place, word):
    with pytest.raises(ConfigError, match="is ignored without a path"):
        configuration(Selection(ignore=(word,)))


def test_a_report_in_files_alone_says_so_and_what_was_found(place):
    (place / "jaxdoctor.yaml").unlink()

    code, out, err = scan("runs", "--output", "r.json")
    assert (code, out) == (1, "")
    assert err.startswith("wrote r.json: 1 error, 1 checkpoint examined (")
    assert scan("runs", "--output", "r.json", "--quiet")[2] == ""


def test_a_report_says_when_where_and_how_it_was_made(place):
    document = json.loads(scan("runs", "--format", "json", "--fail-on", "never")[1])

    run = document["run"]
    assert run["command"] == "jaxdoctor scan-checkpoint runs --format json --fail-on never"
    assert set(run["versions"]) == {"jaxdoctor", "python"}
    assert run["began"].endswith("Z")
    assert run["host"]
