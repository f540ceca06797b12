"""GitLab's code quality report: every issue has what GitLab asks for, and what was not examined is one."""

import io
import json
from dataclasses import replace

from jaxdoctor.facts.finding import Location, Skipped
from jaxdoctor.reports.formats.gitlab import FORMAT
from tests.sample_reports import EMPTY, GOLDEN, HUGE


def issues(report):
    out = io.StringIO()
    FORMAT.write(report, out)
    return json.loads(out.getvalue())


def test_every_issue_has_what_gitlab_asks_for():
    found = issues(HUGE)

    assert len({issue["fingerprint"] for issue in found}) == len(found) == 10_000
    for issue in found[:10]:
        assert issue["description"]
        assert issue["check_name"] == "nonfinite-values"
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert issue["location"]["lines"]["begin"] >= 1


def test_the_same_rule_at_the_same_place_is_two_issues():
    twice = replace(GOLDEN, findings=(GOLDEN.findings[0],) * 2, skipped=())

    first, second = issues(twice)

    assert second["fingerprint"] == f"{first['fingerprint']}-2"


def test_a_place_that_is_no_file_stands_at_the_configuration():
    finding = replace(GOLDEN.findings[0], location=Location(path="NVIDIA H200"))

    (issue,) = issues(
        replace(GOLDEN, findings=(finding,), skipped=(), configuration_file="sub/jaxdoctor.yaml")
    )

    assert issue["location"]["path"] == "sub/jaxdoctor.yaml"
    assert "NVIDIA H200" in issue["description"]


def test_what_was_not_examined_is_an_issue_of_its_own():
    (issue,) = issues(replace(EMPTY, skipped=(Skipped(subject="a.xml", reason="hung", asked=True),)))

    assert issue["severity"] == "critical"
    assert "1 not examined" in issue["description"]
    assert "a.xml: hung" in issue["description"]
