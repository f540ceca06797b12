"""Many runs on a terminal."""

import io
from dataclasses import replace

import pytest

from jaxdoctor.facts.finding import Finding, Location, Severity
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.formats.terminal import FORMAT
from jaxdoctor.reports.screen.runs import runs_of
from tests.builders import checkpoint, leaf
from tests.builders import series as of


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")


def finding(path, severity=Severity.ERROR):
    place = Location(path=path)
    return Finding(code="JD301", name="bad", severity=severity, location=place, message="it is ill")


def report(number, *findings, **fields):
    """So many runs of two checkpoints each."""
    runs = []
    for index in range(number):
        saved = [
            checkpoint(
                leaf("env_steps", "int32", role="counter", value=step), step=step, path=f"runs/{index}/{step}"
            )
            for step in (1000, 2000)
        ]
        runs.append(of(*saved))
    checkpoints = tuple(saved for run in runs for saved in run.checkpoints)
    return Report(
        command="scan-checkpoint",
        subject="runs",
        examined=len(checkpoints),
        findings=findings,
        checkpoints=checkpoints,
        series=tuple(runs),
        **fields,
    )


def shown(made):
    out = io.StringIO()
    FORMAT.write(replace(made, verbose=True), out)
    return out.getvalue()


def test_a_finding_belongs_to_the_run_around_its_place():
    runs = runs_of(report(3, finding("runs/1/2000"), finding("runs/2/1000/default/d"), finding("elsewhere")))

    assert [len(run.findings) for run in runs] == [0, 1, 1]


def test_of_many_runs_the_ill_come_first_and_the_healthy_are_counted():
    text = shown(report(30, finding("runs/7/2000", Severity.WARNING), finding("runs/9/2000")))

    lines = text.splitlines()
    ill = [index for index, line in enumerate(lines) if "1,000 to 2,000" in line and "found" not in line]
    assert "1 error" in lines[ill[0]]
    assert "1 warning" in lines[ill[1]]
    assert "28 runs of 30 are healthy (56 checkpoints)" in text
    assert text.count("env_steps") == 2


def test_healthy_runs_alone_take_one_line():
    text = shown(report(30, finding("runs/3/1000", Severity.NOTE)))

    assert "30 runs of 30 are healthy (60 checkpoints)" in text
    assert "env_steps" not in text


def test_a_few_runs_are_told_whole():
    assert shown(report(2)).count("env_steps") == 2


def test_a_file_has_all_of_them():
    text = shown(report(30, in_full=True))

    assert text.count("env_steps") == 30
    assert "runs/29/2000" in text


def test_checkpoints_that_stand_alone_are_called_so():
    alone = tuple(checkpoint(path=f"files/{index}.npz") for index in range(9))

    text = shown(Report(command="scan-checkpoint", subject="files", examined=9, checkpoints=alone))

    assert "9 checkpoints of 9 are healthy" in text
