"""Reports written as JSON and read back."""

import json

import pytest

from jaxdoctor.errors import UnreadableError
from jaxdoctor.reports.json_reader import read, received
from jaxdoctor.reports.json_writer import written
from tests.sample_reports import EMPTY, GOLDEN, HAND, HOSTILE


def there_and_back(report):
    return received(json.loads(json.dumps(written(report))))


def test_what_merging_needs_survives():
    back = there_and_back(GOLDEN)

    assert back.prescription == GOLDEN.prescription
    assert back.outcomes == GOLDEN.outcomes
    assert back.ignored == GOLDEN.ignored
    assert back.skipped == GOLDEN.skipped
    assert [one.code for one in back.findings] == [one.code for one in GOLDEN.findings]
    assert back.signatures[0].leaves[1].weak_out


def test_a_single_rollout_survives():
    (outcome,) = there_and_back(
        GOLDEN.__class__(command="probe", subject="x", examined=1, outcomes=(HAND,))
    ).outcomes

    assert outcome.subject == HAND.subject
    assert outcome.trials == HAND.trials
    assert outcome.margin_bits == -4


@pytest.mark.parametrize(("report", "examined"), [(EMPTY, 0), (HOSTILE, 1)])
def test_odd_reports_survive(report, examined):
    assert there_and_back(report).examined == examined


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON report"),
        ('{"schema": "other/1"}', "has the schema 'other/1'"),
        ('{"schema": "jaxdoctor.report/1"}', "does not fit its schema"),
        ('{"schema": "jaxdoctor.report/1", "command": "x", "subject": "y", "exit_code": 0, "findings": [3]}',
         "does not fit its schema"),
        ("[1]", "has the schema None"),
    ],
)  # fmt: skip
def test_what_is_no_report_is_one_error(tmp_path, text, message):
    path = tmp_path / "report.json"
    path.write_text(text)

    with pytest.raises(UnreadableError, match=message):
        read(path)
