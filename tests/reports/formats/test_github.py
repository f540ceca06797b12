"""Workflow annotations, and the step's summary."""

import io
import re
from dataclasses import replace

import pytest

from jaxdoctor.facts.finding import Finding, Location, Severity
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
        location=Location(path="a,b:c.xml", line=7),
        message="50 % of it\nis wrong",
    )

    (first, _) = lines(Report(command="probe", subject="a.xml", examined=1, findings=(finding,)))

    assert first == "::warning file=a%2Cb%3Ac.xml,line=7,title=JD209 solref::50 %25 of it\\x0ais wrong"


def test_an_interruption_is_a_warning():
    assert "::warning title=interrupted::this is only what was found until then" in lines(
        replace(GOLDEN, partial=True)
    )


def test_no_workflow_command_can_be_smuggled():
    """One line for each finding, skipped subject and ignored finding, and one with the count: no more."""
    found = lines(HOSTILE)

    commands = [COMMAND.fullmatch(line) for line in found[:-2]]
    assert [command[1] for command in commands] == ["error", "warning"]
    assert found[-2].startswith("ignored JD101 tf32-by-default ")
    assert commands[0][2].count(",") == 2
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
