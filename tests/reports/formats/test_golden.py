"""One report in every format, beside a file that one can look at.

After a change that is meant, `UPDATE_GOLDEN=1 pytest tests/reports/formats/test_golden.py`
writes the files anew.
"""

import io
import os
import time
from pathlib import Path

import pytest

from jaxdoctor import __version__
from jaxdoctor.registry import Folder
from jaxdoctor.reports.format import FORMATS
from jaxdoctor.rules import pages
from jaxdoctor.rules.rule import Rule
from tests.sample_reports import EMPTY, GOLDEN, HOSTILE, HUGE

FOLDER = Path(__file__).parent / "golden"

STEERING = {"\x1b", "\x07", "\r", "\x00", "\u202e", "\u2028", "\ud800"}


@pytest.fixture(autouse=True)
def _plain_surroundings(monkeypatch):
    for name in ("COLUMNS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


def in_format(name, report):
    out = io.StringIO()
    FORMATS.load(name).write(report, out)
    return out.getvalue()


@pytest.mark.parametrize("name", FORMATS.names())
def test_the_golden_report_in_every_format(name, monkeypatch):
    """The pages of the rules are left out: they change with the rules, and have tests of their own."""
    monkeypatch.setattr(pages, "RULES", Folder("jaxdoctor.schema", Rule, noun="rule"))
    path = FOLDER / f"report{FORMATS.load(name).suffixes[0]}"

    text = (
        in_format(name, GOLDEN)
        .replace(f'"{__version__}"', '"VERSION"')
        .replace(f" {__version__}<", " VERSION<")
    )

    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_golden_file_has_its_format():
    suffixes = {FORMATS.load(name).suffixes[0] for name in FORMATS.names()}

    assert {path.name for path in FOLDER.iterdir()} == {f"report{suffix}" for suffix in suffixes}


@pytest.mark.parametrize("name", FORMATS.names())
def test_every_format_writes_an_empty_report(name):
    assert in_format(name, EMPTY).endswith("\n")


@pytest.mark.parametrize("name", FORMATS.names())
def test_no_format_passes_on_what_steers(name):
    """Control characters, changes of direction and broken Unicode of a file name appear escaped."""
    text = in_format(name, HOSTILE)

    assert not STEERING & set(text)
    assert "smuggled" in text
    assert text.encode("utf-8")


@pytest.mark.parametrize("name", FORMATS.names())
def test_ten_thousand_findings_take_less_than_two_seconds(name):
    started = time.process_time()
    in_format(name, HUGE)

    assert time.process_time() - started < 2
