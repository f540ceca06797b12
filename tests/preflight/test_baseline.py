"""Findings that were there already, in whatever folder, order and number they come back."""

import json
from dataclasses import replace

import numpy as np
import pytest

from jaxdoctor.errors import ConfigError, UsageError
from jaxdoctor.facts.finding import Finding, Location, Severity
from jaxdoctor.facts.report import Report
from jaxdoctor.preflight.baseline import against, baseline, write_baseline
from jaxdoctor.reports.fingerprint import folders, placed


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
        (tmp_path / name / "run").touch()
        where = folders(None)
        found = placed(report(finding(path=str(tmp_path / name / "run"))), where)
        texts.append(baseline(found.findings, where))

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
        ('{"schema": "jaxdoctor.baseline/1", "findings": []}', "whose fingerprints hold the working folder"),
        ('{"schema": "jaxdoctor.baseline/2", "findings": [{}]}', "an entry without a fingerprint"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_baseline_that_is_none_is_one_error(tmp_path, text, message):
    path = tmp_path / "baseline.json"
    if text is not None:
        path.write_text(text)

    with pytest.raises(ConfigError, match=message) as caught:
        against(report(), path)

    assert caught.value.hint == f"write it anew: jaxdoctor preflight --write-baseline {path}"
    assert caught.value.exit_code == 2


def test_a_baseline_that_cannot_be_written_is_one_error(tmp_path):
    with pytest.raises(UsageError, match="cannot be written"):
        write_baseline(report(), tmp_path / "nowhere" / "baseline.json")


def saved(path, value=1.0):
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, w=np.array([value, np.nan], "f4"))
    return str(path)


def test_a_file_that_moved_keeps_its_entry(tmp_path, monkeypatch):
    """Its content and the leaf are the same; a file with another content at the new place is news."""
    monkeypatch.chdir(tmp_path)
    where = folders(None)
    path = tmp_path / "baseline.json"
    first = placed(report(finding(path=saved(tmp_path / "old" / "a.npz"))), where)
    write_baseline(first, path)

    (tmp_path / "new").mkdir()
    (tmp_path / "old" / "a.npz").rename(tmp_path / "new" / "b.npz")

    moved = placed(report(finding(path="new/b.npz"), finding(path="new/b.npz", leaf="other")), where)
    assert [one.location.leaf for one in against(moved, path).findings] == ["other"]
    other = placed(report(finding(path=saved(tmp_path / "new" / "c.npz", value=2.0))), where)
    assert len(against(other, path).findings) == 1


def test_a_moved_copy_does_not_take_the_entry_of_what_stayed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "baseline.json"
    write_baseline(placed(report(finding(path=saved(tmp_path / "a.npz"))), folders(None)), path)
    saved(tmp_path / "0.npz")

    both = placed(report(finding(path="0.npz"), finding(path="a.npz")), folders(None))

    assert [one.location.path for one in against(both, path).findings] == ["0.npz"]


def test_hostile_content_is_never_known(tmp_path):
    path = tmp_path / "baseline.json"
    bad = report(finding(code="JD336", name="hostile-content"))
    write_baseline(bad, path)

    assert len(against(bad, path).findings) == 1


def test_a_baseline_of_another_project_excuses_nothing(tmp_path, monkeypatch):
    """Two projects of one repository whose runs have the same names, whatever the working folder."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "jaxdoctor.yaml").touch()
    a, b, path = tmp_path / "a" / "jaxdoctor.yaml", tmp_path / "b" / "jaxdoctor.yaml", tmp_path / "known.json"
    write_baseline(report(finding()), path, a)

    with pytest.raises(ConfigError, match="is of the project in 'a'"):
        against(report(finding()), path, b)
    monkeypatch.chdir(tmp_path / "b")
    assert against(report(finding()), path, a).findings == ()


@pytest.mark.parametrize("moved", [False, True])
def test_without_a_repository_a_baseline_moves_with_its_project(tmp_path, moved):
    (tmp_path / "one").mkdir()
    write_baseline(report(finding()), tmp_path / "one" / "known.json", tmp_path / "one" / "jaxdoctor.yaml")
    place = tmp_path / "one"
    if moved:
        place = place.rename(tmp_path / "two")

    assert against(report(finding()), place / "known.json", place / "jaxdoctor.yaml").findings == ()
    with pytest.raises(ConfigError, match="another one"):
        against(report(finding()), place / "known.json", tmp_path / "jaxdoctor.yaml")
