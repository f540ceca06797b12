"""What counts: select, severity, ignore, and baselines."""

import json
from dataclasses import replace

import pytest

from jaxdoctor.config.settings import Config, Waiver
from jaxdoctor.config.waivers import weighed
from jaxdoctor.errors import ConfigError, UsageError
from jaxdoctor.facts.finding import Finding, Location, Severity
from jaxdoctor.facts.report import Report
from jaxdoctor.preflight.baseline import against, baseline, write_baseline


def finding(code="JD301", name="nonfinite-values", path="run/100", leaf="w", message="1 of 3", **rest):
    return Finding(
        code=code,
        name=name,
        severity=Severity.ERROR,
        location=Location(path=path, leaf=leaf),
        message=message,
        **rest,
    )


def report(*findings):
    return Report(command="preflight", subject="x", examined=1, findings=findings)


def codes(weighed_report):
    return [one.code for one in weighed_report.findings]


@pytest.mark.parametrize(
    ("select", "left"),
    [
        ((), ["JD301", "JD101"]),
        (("JD3",), ["JD301"]),
        (("jd101",), ["JD101"]),
        (("nonfinite_values",), ["JD301"]),
    ],
)
def test_only_what_is_selected_counts(select, left):
    both = report(finding(), finding(code="JD101", name="tf32-by-default"))

    assert codes(weighed(both, Config(select=select))) == left


def test_the_last_word_on_a_severity_wins():
    config = Config(severity={"JD3": "note", "JD301": "warning"})

    (weighted,) = weighed(report(finding()), config).findings

    assert weighted.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("waiver", "ignored"),
    [
        ({"rule": "JD301"}, True),
        ({"rule": "JD3", "path": "run/*"}, True),
        ({"rule": "JD301", "path": "other/*"}, False),
        ({"rule": "JD301", "leaf": "b*"}, False),
        ({"rule": "JD302"}, False),
    ],
)
def test_what_is_ignored_is_kept_with_its_reason(waiver, ignored):
    found = weighed(report(finding()), Config(ignore=(Waiver(reason="memory", **waiver),)))

    assert len(found.findings) == (not ignored)
    assert [one.reason for one in found.ignored] == ["memory"] * ignored
    assert found.exit_code(Severity.ERROR) == (not ignored)


def test_a_baseline_knows_findings_in_any_order_with_other_numbers(tmp_path):
    """Two illnesses were recorded; they come back the other way round, one with another count."""
    path = tmp_path / "baseline.json"
    first, second = finding(), finding(leaf="b", evidence={"nonfinite": 1})
    write_baseline(report(first, second), path)

    later = against(
        report(replace(second, message="2 of 9", evidence={"nonfinite": 2}), first, finding(leaf="new")), path
    )

    assert [one.location.leaf for one in later.findings] == ["new"]
    assert [one.reason for one in later.ignored] == [f"in the baseline {path}"] * 2


def test_a_baseline_knows_each_finding_as_often_as_it_was_there(tmp_path):
    path = tmp_path / "baseline.json"
    write_baseline(report(finding()), path)

    assert len(against(report(finding(), finding()), path).findings) == 1


def test_a_line_that_moves_is_no_new_finding(tmp_path):
    path = tmp_path / "baseline.json"
    moved = replace(finding(), location=Location(path="model.xml", line=9))
    write_baseline(report(replace(moved, location=Location(path="model.xml", line=4))), path)

    assert against(report(moved), path).findings == ()


def test_a_folder_that_moves_with_its_work_is_no_new_finding(tmp_path, monkeypatch):
    """Absolute paths below the working folder are recorded from there: CI checks out elsewhere."""
    texts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        texts.append(baseline([finding(path=str(tmp_path / name / "run"))]))

    assert texts[0] == texts[1]
    assert json.loads(texts[0])["findings"][0]["path"] == "run"


def test_writing_over_a_baseline_keeps_what_it_knew(tmp_path):
    path = tmp_path / "baseline.json"
    write_baseline(report(finding()), path)

    write_baseline(against(report(finding(), finding(leaf="b")), path), path)

    assert len(json.loads(path.read_text())["findings"]) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON"),
        (
            '{"schema": "jaxdoctor.baseline/9"}',
            "has the schema 'jaxdoctor.baseline/9', not",
        ),
        ("[]", "has the schema None"),
        ('{"schema": "jaxdoctor.baseline/1", "findings": [{}]}', "an entry without a fingerprint"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_baseline_that_is_none_is_one_error(tmp_path, text, message):
    path = tmp_path / "baseline.json"
    if text is not None:
        path.write_text(text)

    with pytest.raises(ConfigError, match=message) as caught:
        against(report(), path)

    assert caught.value.hint == "write it anew with --write-baseline"
    assert caught.value.exit_code == 2


def test_a_baseline_that_cannot_be_written_is_one_error(tmp_path):
    with pytest.raises(UsageError, match="cannot be written"):
        write_baseline(report(), tmp_path / "nowhere" / "baseline.json")
