"""JUnit XML as test tabs count it."""

import io
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.reports.formats.junit import FORMAT
from tests.sample_reports import EMPTY, GOLDEN, HOSTILE, HUGE


def as_xml(report):
    out = io.StringIO()
    FORMAT.write(report, out)
    return ET.fromstring(out.getvalue())


@pytest.mark.parametrize("report", [GOLDEN, EMPTY, HOSTILE, HUGE], ids=["golden", "empty", "hostile", "huge"])
def test_the_numbers_are_those_of_the_cases(report):
    root = as_xml(report)

    assert int(root.get("tests")) == len(root.findall(".//testcase"))
    assert int(root.get("failures")) == len(root.findall(".//failure"))
    assert int(root.get("skipped")) == len(root.findall(".//skipped"))


@pytest.mark.parametrize(("fail_on", "failures"), [(Severity.ERROR, 2), (Severity.NOTE, 4), (None, 0)])
def test_what_fails_is_the_callers_choice(fail_on, failures):
    """Below `--fail-on` a finding is a case that passes and still says what was seen."""
    root = as_xml(replace(GOLDEN, fail_on=fail_on))

    assert len(root.findall(".//failure")) == failures
    assert len(root.findall(".//testcase/system-out")) == 4 - failures


def test_subjects_that_are_well_pass():
    well = [case.get("classname") for case in as_xml(GOLDEN).iter("testcase") if len(case) == 0]

    assert well == ["models/walker.xml", "run/000100", "run/000200", "train:update"]


def test_a_case_is_named_by_rule_and_leaf():
    case = as_xml(GOLDEN).find(".//testcase[@classname='run/000300']")

    assert case.get("name") == "JD301 nonfinite-values params/actor/kernel"
    assert case.find("failure").get("message") == "2 of 256 values are not finite"
