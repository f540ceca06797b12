"""Where a report goes, and what the process ends with."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from jaxdoctor.errors import UnknownNameError, UsageError
from jaxdoctor.facts.finding import Severity
from jaxdoctor.reports.publish import pair, publish, require_writable, severity_named
from jaxdoctor.reports.wording import examined
from tests.sample_reports import EMPTY, GOLDEN


def test_formats_and_outputs_pair_in_their_order():
    assert pair(["json", "terminal"], [Path("a.json")]) == [("json", Path("a.json")), ("terminal", None)]


def test_a_suffix_names_the_format_that_is_missing():
    assert pair([], [Path("report.json")]) == [("json", Path("report.json"))]


def test_nothing_said_means_the_terminal():
    assert pair([], []) == [("terminal", None)]


def test_only_one_format_may_take_stdout():
    with pytest.raises(UsageError, match="2 formats are left for stdout: json, terminal"):
        pair(["json", "terminal"], [])


def test_an_unknown_suffix_is_refused():
    with pytest.raises(UsageError, match="no format is known by the suffix of report"):
        pair([], [Path("report.docx")])


@pytest.mark.parametrize(
    ("formats", "outputs", "pairs"),
    [
        ([], ["a.html", "a.json"], [("html", "a.html"), ("json", "a.json")]),
        (
            ["terminal"],
            ["page.html", "r.json"],
            [("html", "page.html"), ("json", "r.json"), ("terminal", None)],
        ),
        (["json", "html"], ["a.html", "b.json"], [("html", "a.html"), ("json", "b.json")]),
        (["json"], ["-"], [("json", None)]),
        ([], ["-"], [("terminal", None)]),
        (["json", "terminal"], ["out", "-"], [("json", "out"), ("terminal", None)]),
        (["sarif", "github"], ["x.sarif"], [("sarif", "x.sarif"), ("github", None)]),
        (["sarif"], ["x.json"], [("sarif", "x.json")]),
        (["gitlab"], ["gl-code-quality-report.json"], [("gitlab", "gl-code-quality-report.json")]),
        (["gitlab", "json"], ["a.json", "b.json"], [("gitlab", "a.json"), ("json", "b.json")]),
    ],
)
def test_the_suffix_of_a_file_chooses_its_format(formats, outputs, pairs):
    wanted = [(name, None if path is None else Path(path)) for name, path in pairs]

    assert pair(formats, [Path(path) for path in outputs]) == wanted


@pytest.mark.parametrize(
    ("formats", "outputs"),
    [(["json"], ["page.html"]), (["terminal"], ["r.json"]), (["sarif"], ["page.html", "r.xml"])],
)
def test_a_format_that_contradicts_the_suffix_is_refused(formats, outputs):
    with pytest.raises(UsageError, match=f"--format {formats[0]} contradicts --output {outputs[0]}"):
        pair(formats, [Path(path) for path in outputs])


def test_findings_have_one_order_in_every_format(tmp_path):
    """The codes stand in a JSON file as on the screen: the worst first, else as the rules gave them."""
    files = [tmp_path / name for name in ("r.json", "r.txt", "r.md", "r.sarif", "r.xml", "r.github")]

    publish(GOLDEN, [], files, "error")

    orders = {
        path.name: list(dict.fromkeys(re.findall("JD201|JD301|JD302|JD101", _results(path))))
        for path in files
    }
    assert set(map(tuple, orders.values())) == {("JD201", "JD301", "JD302", "JD101")}


def _results(path):
    """Of SARIF the results alone: its rules stand in the order of their codes."""
    text = path.read_text()
    return text[text.index('"results"') :] if path.suffix == ".sarif" else text


def test_people_and_programs_are_served_in_one_run(tmp_path, capsys):
    """The first format goes into the file, the other onto stdout; both tell the same exit code."""
    path = tmp_path / "report.json"

    code = publish(GOLDEN, ["json", "terminal"], [path], "error")

    assert code == 1
    assert json.loads(path.read_text())["exit_code"] == 1
    assert "JD201 error" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("report", "fail_on", "code"),
    [
        (GOLDEN, "error", 1),
        (GOLDEN, "never", 0),
        (replace(GOLDEN, findings=()), "note", 0),
        (EMPTY, "error", 3),
        (replace(GOLDEN, partial=True), "never", 130),
    ],
)
def test_exit_codes_keep_findings_nothing_examined_and_interruption_apart(report, fail_on, code, tmp_path):
    assert publish(report, ["json"], [tmp_path / "x.json"], fail_on) == code


def test_the_severity_is_the_callers_choice():
    assert severity_named("note") is Severity.NOTE
    assert severity_named("never") is None
    with pytest.raises(UnknownNameError, match="no severity named 'eror'"):
        severity_named("eror")


@pytest.mark.parametrize(
    ("path", "why"),
    [(".", "it is a folder"), ("nowhere/report.json", "its folder does not exist")],
)
def test_an_unwritable_output_is_said_before_the_work(tmp_path, path, why):
    with pytest.raises(UsageError, match=f"cannot be written: {why}"):
        require_writable(tmp_path / path)

    assert list(tmp_path.iterdir()) == []


def test_verbose_tells_on_stderr_and_only_then(tmp_path):
    """The report on stdout has the tables with it, and stderr what is being read."""
    np.savez(tmp_path / "step_1.npz", w=np.ones(3, "f4"))
    scan = [sys.executable, "-m", "jaxdoctor", "scan-checkpoint", str(tmp_path / "step_1.npz")]

    quiet, verbose = (
        subprocess.run([*scan, *more], capture_output=True, text=True, check=True)
        for more in ([], ["--verbose"])
    )

    assert "268 B on disk" in verbose.stdout
    assert "on disk" not in quiet.stdout
    assert quiet.stderr == ""
    assert f"reading {tmp_path}/step_1.npz as npz\n" in verbose.stderr


def test_a_device_that_is_full_is_an_error_of_the_call():
    with pytest.raises(UsageError, match="/dev/full cannot be written: No space left on device"):
        publish(GOLDEN, ["json"], [Path("/dev/full")], "error")


MIXED = "2 checkpoints, 1 update and 1 machine"


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"examined": 0}, "nothing"),
        ({"examined": 1, "checkpoints": 1}, "1 checkpoint"),
        ({"examined": 4, "checkpoints": 2, "signatures": 1, "environment": True}, MIXED),
        ({"examined": 3, "checkpoints": 2}, "3 subjects"),
        ({"examined": 1, "checkpoints": 2}, "1 subject"),
    ],
)
def test_a_summary_names_what_was_examined(parts, words):
    """A report in parts, whose number is not that of what it holds, says the number alone."""
    report = replace(
        GOLDEN,
        examined=parts["examined"],
        checkpoints=GOLDEN.checkpoints[:1] * parts.get("checkpoints", 0),
        signatures=GOLDEN.signatures[:1] * parts.get("signatures", 0),
        outcomes=(),
        bundles=(),
        environment=GOLDEN.environment if "environment" in parts else None,
    )

    assert examined(report) == words


def test_a_report_does_not_take_the_place_of_a_checkpoint(tmp_path):
    """Whoever gives the file that is scanned for --output would lose it."""
    np.savez(tmp_path / "step_1.npz", w=np.ones(3))
    (tmp_path / "old.json").write_text("{}")

    require_writable(tmp_path / "old.json")
    with pytest.raises(UsageError, match="it holds no text, so it is no earlier report"):
        require_writable(tmp_path / "step_1.npz")
