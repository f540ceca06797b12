"""The matrix of versions: its script, and the page that it wrote."""

import importlib.machinery
import importlib.util

import pytest

from jaxdoctor.facts.versions import NEWEST_JAX, parsed
from tests.paths import ROOT


@pytest.fixture
def matrix(tmp_path, monkeypatch):
    """The script, which writes a page of the test's own."""
    loader = importlib.machinery.SourceFileLoader("versions", str(ROOT / ".ci" / "versions"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("versions", loader))
    monkeypatch.setattr("sys.dont_write_bytecode", True)  # no cache beside a script without a suffix
    loader.exec_module(module)
    monkeypatch.setattr(module, "PAGE", tmp_path / "versions.md")
    return module


def row(matrix, name, jax):
    return dict.fromkeys(matrix.COLUMNS, "?") | {"row": name, "jax": jax}


def table(text):
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| ")
    ]


def test_a_row_that_is_run_again_replaces_itself_alone(matrix):
    matrix.write(row(matrix, "newest", "0.12"))
    matrix.write(row(matrix, "lower-bounds", "0.5.3"))
    matrix.write(row(matrix, "newest", "0.13"))

    _, *rows = table(matrix.PAGE.read_text())

    assert [(cells[0], cells[2]) for cells in rows] == [("lower-bounds", "0.5.3"), ("newest", "0.13")]


def test_only_what_is_worse_than_a_note_is_compared(matrix):
    findings = [
        {"code": code, "severity": severity}
        for code, severity in [
            ("JD301", "error"),
            ("JD123", "note"),
            ("JD301", "error"),
            ("JD506", "warning"),
        ]
    ]

    assert matrix.codes({"findings": findings}) == "JD301 JD506"
    assert matrix.codes({"verdict": "exit code 70"}) == "exit code 70"


def test_the_lower_bounds_that_are_tried_are_those_of_the_package(matrix):
    _, pins = matrix.ROWS["lower-bounds"]
    project = (ROOT / "pyproject.toml").read_text()

    assert all(f'"{pin.replace("==", ">=")}"' in project for pin in pins)


def test_the_page_holds_rows_of_the_script_and_names_the_newest_jax(matrix):
    header, *rows = table((ROOT / "docs" / "versions.md").read_text())
    tried = [dict(zip(header, cells, strict=True)) for cells in rows]

    assert {each["row"] for each in tried} <= set(matrix.ROWS)
    assert max((each["jax"] for each in tried), key=parsed) == NEWEST_JAX
    # Whichever JAX it is, the answers are the same.
    assert len({(each["probe"], each["scan"], each["update"]) for each in tried}) == 1
