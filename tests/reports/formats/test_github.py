"""Workflow annotations, and the step's summary."""

import io
import re
from dataclasses import replace

import pytest

from jaxdoctor.facts.finding import Finding, Location, Severity, Skipped
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.formats.github import FORMAT
from jaxdoctor.reports.formats.terminal import FORMAT as TERMINAL
from tests.sample_reports import GOLDEN, HOSTILE, HUGE

COMMAND = re.compile(r"::(\w+) ?([^:]*)::(.*)")


@pytest.fixture(autouse=True)
def _no_summary(monkeypatch):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


def lines(report, form=FORMAT):
    out = io.StringIO()
    form.write(report, out)
    return out.getvalue().splitlines()


def test_a_finding_is_an_annotation_at_its_file():
    finding = Finding(
        code="JD209",
        name="solref",
        severity=Severity.WARNING,
        location=Location(path="../a,b:c.xml", line=7, file="sub/a,b:c.xml"),
        message="50 % of it\nis wrong",
    )

    (first, _) = lines(Report(command="probe", subject="a.xml", examined=1, findings=(finding,)))

    assert first == "::warning file=sub/a%2Cb%3Ac.xml,line=7,title=JD209 solref::50 %25 of it\\x0ais wrong"


def test_a_place_that_is_no_file_names_none():
    """GitHub would look for a file called "any card with TF32"."""
    finding = Finding(
        code="JD101",
        name="tf32-by-default",
        severity=Severity.NOTE,
        location=Location(path="any card with TF32"),
        message="14 of 16 products",
    )

    (first, _) = lines(Report(command="probe", subject="x", examined=1, findings=(finding,)))

    assert first == "::notice title=JD101 tf32-by-default::any card with TF32: 14 of 16 products"


def test_what_fails_the_run_without_a_result_is_an_error():
    skipped = (Skipped(subject="a", reason="hung", asked=True), Skipped(subject="b.onnx", reason="not read"))

    found = lines(Report(command="preflight", subject="x", examined=1, skipped=skipped))

    assert found[0] == "::error title=not examined::a: hung"
    assert found[1] == "::warning title=not examined::b.onnx: not read"
    assert found[2] == "no findings, 1 subject examined, 2 not examined"


def test_an_interruption_is_a_warning():
    assert "::warning title=interrupted::partial report" in lines(replace(GOLDEN, partial=True))


def test_no_workflow_command_can_be_smuggled():
    """One line for each finding, skipped subject and ignored finding, and one with the count: no more."""
    found = lines(HOSTILE)

    commands = [COMMAND.fullmatch(line) for line in found[:-2]]
    assert [command[1] for command in commands] == ["error", "error"]
    assert found[-2].startswith("ignored JD101 tf32-by-default ")
    assert commands[0][2].count(",") == 0
    assert not found[-1].startswith("::")


@pytest.mark.parametrize("name", ["::stop-commands::x", "  ::error::x", "##[error]x", "##vso[task.x]y"])
def test_nor_through_the_format_for_people(name):
    """Runners read commands from every line of a log, so a subject must not begin one."""
    outcome = Outcome(subject=name, trials=(), verdict=Verdict.HEALTHY)

    text = lines(Report(command="probe", subject="x", examined=1, outcomes=(outcome,)), TERMINAL)

    assert not [line for line in text if line.lstrip().startswith("::") or "##[" in line or "##vso[" in line]


def test_the_summary_is_appended_to_the_file_that_github_names(monkeypatch, tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    lines(GOLDEN)

    assert summary.read_text().startswith("before\n# jaxdoctor preflight: jaxdoctor.yaml\n")


def test_a_summary_stays_below_what_github_takes(monkeypatch, tmp_path):
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    long = replace(HUGE, findings=tuple(replace(one, message="é" * 4000) for one in HUGE.findings))

    lines(long)

    assert summary.stat().st_size < 2**20
