"""The JSON format against the schema that ships with it."""

import io
import json
from dataclasses import replace
from importlib.resources import files

import jsonschema
import pytest

from jaxdoctor.facts.finding import Finding, Location, Severity
from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.formats.json import FORMAT
from tests.sample_reports import EMPTY, GOLDEN, HAND, HOSTILE, HUGE

SCHEMA = json.loads(files("jaxdoctor").joinpath("schema/report-1.json").read_text())


def as_json(report):
    out = io.StringIO()
    FORMAT.write(report, out)
    return json.loads(out.getvalue())


@pytest.mark.parametrize("report", [GOLDEN, EMPTY, HOSTILE, HUGE], ids=["golden", "empty", "hostile", "huge"])
def test_every_report_fits_the_schema(report):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)

    jsonschema.Draft202012Validator(SCHEMA).validate(as_json(report))


def test_the_schema_is_not_so_wide_that_everything_fits():
    document = as_json(GOLDEN)
    document["trials"][0]["interval"] = [0.5]

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(document)


def test_keys_that_a_command_does_not_fill_are_absent():
    always = {"schema", "tool", "command", "subject", "findings", "examined", "fail_on", "exit_code"}
    assert set(as_json(EMPTY)) == always


def test_the_worst_rollout_gives_the_top_level_verdict():
    """Of several rollouts, one that a setting can cure comes before one that is healthy."""
    document = as_json(GOLDEN)

    assert document["verdict"] == "precision"
    assert (document["required_bits"], document["delivered_bits"], document["margin_bits"]) == (14, 10, -4)
    assert [rollout["subject"] for rollout in document["rollouts"]] == [
        "models/hand.xml",
        "models/walker.xml",
    ]


def test_unknown_is_worse_than_healthy_and_keeps_its_keys():
    unknown = Outcome(subject="rope", trials=(), verdict=Verdict.UNKNOWN, reason="out of memory")
    healthy = replace(HAND, verdict=Verdict.HEALTHY, required_bits=3)

    document = as_json(Report(command="probe", subject="two", examined=1, outcomes=(healthy, unknown)))

    assert document["verdict"] == "unknown"
    assert document["required_bits"] is None
    assert document["rollouts"][1]["reason"] == "out of memory"


def test_a_single_rollout_stands_in_the_list_and_at_the_top():
    document = as_json(Report(command="probe", subject="one", examined=1, outcomes=(HAND,)))

    (rollout,) = document["rollouts"]
    assert document["margin_bits"] == rollout["margin_bits"] == -4


@pytest.mark.parametrize(
    ("fail_on", "partial", "code"),
    [(Severity.ERROR, False, 1), (None, False, 0), (Severity.ERROR, True, 130)],
)
def test_the_exit_code_is_the_one_that_the_process_ends_with(fail_on, partial, code):
    document = as_json(replace(GOLDEN, fail_on=fail_on, partial=partial))

    assert document["exit_code"] == code
    assert document.get("partial", False) is partial


def test_evidence_that_json_cannot_hold_becomes_words():
    """NaN and infinity are no JSON; NumPy scalars and tuples are what they stand for."""
    import numpy as np

    finding = Finding(
        code="JD301",
        name="nonfinite-values",
        severity=Severity.ERROR,
        location=Location(),
        message="",
        evidence={"worst": float("nan"), "low": float("-inf"), "count": np.int32(3), "shape": (2, 3)},
    )

    document = as_json(Report(command="scan", subject="x", examined=1, findings=(finding,)))

    assert document["findings"][0]["evidence"] == {"worst": "nan", "low": "-inf", "count": 3, "shape": [2, 3]}


def test_nothing_but_ascii_is_written():
    """Escapes of a file name stay escapes, so that showing the file on a terminal is harmless."""
    out = io.StringIO()

    FORMAT.write(HOSTILE, out)

    assert out.getvalue().isascii()
    assert set(out.getvalue()) >= {"\n"}
    assert all(letter.isprintable() or letter == "\n" for letter in out.getvalue())
