"""`jaxdoctor report`: what was written as JSON, in every other format."""

import json

import pytest
from typer.testing import CliRunner

from jaxdoctor.cli import build
from jaxdoctor.errors import UnreadableError, UsageError
from jaxdoctor.reports.fingerprint import folders, placed
from jaxdoctor.reports.format import FORMATS
from jaxdoctor.reports.publish import publish
from tests.sample_reports import GOLDEN

CONVERTED = [name for name in FORMATS.names() if name != "json"]


def report(*arguments):
    return CliRunner().invoke(build(), ["report", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    path = tmp_path / "r.json"
    publish(placed(GOLDEN, folders(None)), [], [path], "error")
    return path


@pytest.mark.parametrize("name", CONVERTED)
def test_every_format_is_what_the_run_itself_would_have_written(written, tmp_path, name):
    suffix = FORMATS.load(name).suffixes[0]
    direct, converted = tmp_path / f"direct{suffix}", tmp_path / f"converted{suffix}"
    publish(placed(GOLDEN, folders(None)), [], [direct], "error")

    done = report(written, "--output", converted)

    assert done.exit_code == 1
    assert converted.read_text() == direct.read_text()


def test_json_comes_back_as_it_was(written):
    assert json.loads(report(written, "--format", "json").stdout) == json.loads(written.read_text())


def test_rules_are_selected_anew_and_the_exit_code_follows(written):
    assert report(written, "--select", "JD1").exit_code == 0
    assert "JD301" not in report(written, "--select", "JD1").stdout
    assert report(written, "--ignore", "JD3=known").exit_code == 1
    assert report(written, "--fail-on", "never").exit_code == 0
    assert report(written, "--fail-on", "never", "--strict").exit_code == 3


@pytest.mark.parametrize(("text", "error"), [(None, UsageError), ("{}", UnreadableError)])
def test_what_is_no_report_is_one_error(tmp_path, text, error):
    path = tmp_path / "r.json"
    if text is not None:
        path.write_text(text)

    with pytest.raises(error):
        report(path)


def test_a_file_that_another_version_wrote_is_read(written):
    """Keys may be added within a version of the schema, and older reports lack the newer ones."""
    document = json.loads(written.read_text())
    for key in ("examined", "fail_on", "not_examined"):
        document.pop(key, None)
    document["environment"]["a key of tomorrow"] = 1
    written.write_text(json.dumps(document))

    assert "JD201 error" in report(written).stdout
