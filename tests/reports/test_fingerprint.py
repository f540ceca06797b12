"""What a finding is recognised by, from whatever folder it is seen."""

import os

import pytest

from jaxdoctor.facts.finding import Finding, Location, Severity
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.fingerprint import content_of, folders, placed, repository, seen_from


def finding(path, leaf="w", **evidence):
    return Finding(
        code="JD301",
        name="nonfinite-values",
        severity=Severity.ERROR,
        location=Location(path=path, leaf=leaf),
        message="it",
        evidence=evidence,
    )


def one(path, configuration=None, **evidence):
    report = Report(command="x", subject="x", examined=1, findings=(finding(path, **evidence),))
    (found,) = placed(report, folders(configuration)).findings
    return found


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with a project below it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub" / "runs").mkdir(parents=True)
    (tmp_path / "sub" / "runs" / "a.npz").write_bytes(b"1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_working_folder_decides_nothing(checkout, monkeypatch):
    config = checkout / "sub" / "jaxdoctor.yaml"
    from_root = one("sub/runs/a.npz", config)
    without = one("sub/runs/a.npz")

    monkeypatch.chdir(checkout / "sub")

    assert one("runs/a.npz", config).fingerprint == from_root.fingerprint
    assert one(str(checkout / "sub" / "runs" / "a.npz"), config).fingerprint == from_root.fingerprint
    assert one("runs/a.npz").fingerprint == without.fingerprint
    assert one("runs/a.npz").location.file == from_root.location.file == "sub/runs/a.npz"


def test_a_machine_is_no_file(checkout):
    found = one("any card with TF32")

    assert found.location.file is None
    assert found.content is None
    assert found.fingerprint is not None


def test_words_tell_apart_and_names_of_files_do_not(checkout):
    """A flag is part of what was found; the neighbour that a message names may have another name tomorrow."""
    assert one("x", flag="--a").fingerprint != one("x", flag="--b").fingerprint
    assert one("x", nan=3).fingerprint == one("x", nan=4).fingerprint
    assert one("x", neighbour="sub/runs").fingerprint == one("x", neighbour="sub").fingerprint


def test_an_absolute_path_outside_stays_absolute(checkout):
    assert seen_from(checkout / "sub", "/elsewhere/x") == "/elsewhere/x"
    assert seen_from(checkout / "sub", "../a") == "../../a"


def test_content_is_read_at_a_bounded_price_and_sees_both_ends(tmp_path):
    big, other = tmp_path / "big", tmp_path / "other"
    big.write_bytes(b"a" * (1 << 20) + b"b")
    other.write_bytes(b"a" * (1 << 20) + b"c")

    assert content_of(str(big)) != content_of(str(other))
    assert content_of(str(tmp_path / "nowhere")) is None


def test_a_folder_has_the_content_of_its_files(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name / "d").mkdir(parents=True)
        (tmp_path / name / "d" / "x").write_bytes(b"1")

    assert content_of(str(tmp_path / "one")) == content_of(str(tmp_path / "two"))


def test_a_folder_that_cannot_be_searched_is_in_no_repository(tmp_path, monkeypatch):
    def closed(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", closed)

        assert repository(tmp_path) is None
