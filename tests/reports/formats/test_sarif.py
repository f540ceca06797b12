"""SARIF against the parts of its schema that we use, and against what code scanning asks for."""

import io
import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from jaxdoctor.facts.finding import Finding, Location, Severity
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.formats.sarif import FORMAT
from tests.sample_reports import EMPTY, GOLDEN, HOSTILE, HUGE

SCHEMA = json.loads((Path(__file__).parent / "sarif_subset.json").read_text())


def as_sarif(report):
    out = io.StringIO()
    FORMAT.write(report, out)
    return json.loads(out.getvalue())


def of(path, leaf=None, file=None, **rest):
    finding = Finding(
        code="JD101",
        name="tf32-by-default",
        severity=Severity.ERROR,
        location=Location(path=path, leaf=leaf, file=file),
        message="it",
        **rest,
    )
    (run,) = as_sarif(Report(command="x", subject="subject", examined=1, findings=(finding,)))["runs"]
    return run["results"][0]


@pytest.mark.parametrize("report", [GOLDEN, EMPTY, HOSTILE, HUGE], ids=["golden", "empty", "hostile", "huge"])
def test_every_report_is_valid(report):
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER

    jsonschema.Draft202012Validator(SCHEMA, format_checker=checker).validate(as_sarif(report))


def test_the_leaf_is_a_logical_location():
    (location,) = of("run/100", "params/w", file="sub/run/100")["locations"]

    artifact = {"uri": "sub/run/100", "uriBaseId": "%SRCROOT%"}
    assert location["physicalLocation"]["artifactLocation"] == artifact
    assert location["logicalLocations"] == [{"name": "w", "fullyQualifiedName": "params/w", "kind": "member"}]


def test_a_place_that_is_no_file_is_a_resource_at_the_configuration():
    """GitHub refuses a result without a file, and no file is called "any card with TF32"."""
    (run,) = as_sarif(
        replace(
            GOLDEN,
            findings=(replace(GOLDEN.findings[0], location=Location(path="any card with TF32")),),
            configuration_file="sub/jaxdoctor.yaml",
            root="/checkout",
        )
    )["runs"]
    (location,) = run["results"][0]["locations"]

    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == "file:///checkout/"
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "sub/jaxdoctor.yaml"
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "any card with TF32"


def test_a_rule_carries_its_page():
    (run,) = as_sarif(GOLDEN)["runs"]
    rule = run["tool"]["driver"]["rules"][0]

    assert rule["id"] == "JD101"
    assert "## Why it matters" in rule["help"]["markdown"]
    assert rule["helpUri"].endswith("docs/rules/tf32-by-default.md")
    assert [run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] for result in run["results"]] == [
        result["ruleId"] for result in run["results"]
    ]


def test_paths_are_escaped():
    def uri(file):
        return of("x", file=file)["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]

    assert uri("a b/100%") == "a%20b/100%25"
    assert uri("/elsewhere/x") == "file:///elsewhere/x"
    assert uri("scheme:name") == "scheme%3Aname"


def test_what_is_ignored_is_suppressed_with_its_reason():
    (run,) = as_sarif(GOLDEN)["runs"]

    assert run["results"][-1]["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "memory; compared with float32 in March"}
    ]
    assert not any("suppressions" in result for result in run["results"][:-1])


def test_what_was_not_examined_is_a_notification():
    (run,) = as_sarif(replace(GOLDEN, partial=True))["runs"]
    (invocation,) = run["invocations"]

    assert invocation["executionSuccessful"] is False
    assert invocation["exitCode"] == 130
    assert (
        "models/rope.xml was not examined" in invocation["toolExecutionNotifications"][0]["message"]["text"]
    )


def test_the_fingerprint_survives_other_numbers_and_not_another_place():
    def print_of(*arguments, **evidence):
        return of(*arguments, evidence=evidence)["partialFingerprints"]["jaxdoctor/v2"]

    assert print_of("run", "w", nan=3) == print_of("run", "w", nan=4)
    assert len({print_of("run", "w"), print_of("run", "b"), print_of("run", "w", flag="--x")}) == 3
