"""Findings on a terminal: grouped, within the width, with their source and their pages."""

import io

import pytest

from jaxdoctor.facts.finding import Finding, Location, Severity
from jaxdoctor.facts.report import Report
from jaxdoctor.reports.formats.terminal import FORMAT

LEAF = "opt_state/0/nu/params/policy/hidden_{}/kernel"


def shown(findings, monkeypatch, width=80):
    monkeypatch.setenv("COLUMNS", str(width))
    out = io.StringIO()
    FORMAT.write(Report(command="scan", subject="run", examined=1, findings=tuple(findings)), out)
    return out.getvalue()


def finding(code="JD301", severity=Severity.ERROR, fix="restore step 200", **place):
    name = {"JD301": "nonfinite-values", "JD311": "counter-wrapped"}[code]
    location = Location(**{"path": "run/300.npz", **place})
    return Finding(code=code, name=name, severity=severity, location=location, message="it is ill", fix=fix)


def test_repeats_of_a_rule_are_grouped_with_their_common_fix_once(monkeypatch):
    text = shown([finding(leaf="a"), finding("JD311"), finding(leaf="b")], monkeypatch)

    assert "JD301 error nonfinite-values: 2 places\n" in text
    assert text.index("npz a") < text.index("npz b") < text.index("JD311")
    assert text.count("fix, of all 2: restore step 200") == 1


def test_fixes_that_differ_stand_with_their_places(monkeypatch):
    text = shown([finding(leaf="a"), finding(leaf="b", fix="restore step 100")], monkeypatch)

    assert text.index("fix: restore step 200") < text.index("npz b") < text.index("fix: restore step 100")


@pytest.mark.parametrize("width", [80, 120])
def test_names_are_cut_on_the_left_so_that_they_can_be_told_apart(monkeypatch, width):
    """Every line stays within the width, and each place ends as its leaf does."""
    folder = "/".join(["a-long-folder-name"] * 8)
    findings = [finding(path=f"{folder}/{index}.npz", leaf=LEAF.format(index)) for index in range(3)]

    lines = shown(findings, monkeypatch, width).splitlines()
    places = [line for line in lines if line.strip().startswith("at ")]

    assert [place.endswith(f"hidden_{index}/kernel") for index, place in enumerate(places)] == [True] * 3
    assert max(len(line) for line in lines if "https://" not in line) <= width


def test_the_line_of_source_is_shown_with_carets(monkeypatch):
    text = shown([finding(path="train.py", line=12, source="    count = count + 1.0")], monkeypatch)

    assert "    12 | count = count + 1.0\n       | ^^^^^^^^^^^^^^^^^^^\n" in text


def test_the_page_of_each_code_found_stands_below_the_findings(monkeypatch):
    text = shown([finding(), finding("JD311")], monkeypatch)

    assert "pages: jaxdoctor rule JD301 JD311\n" in text
    assert "docs/rules/counter-wrapped.md\n" in text


def test_what_is_no_place_is_not_called_one(monkeypatch):
    assert "\n    for any card with TF32\n" in shown([finding(path="any card with TF32")], monkeypatch)
