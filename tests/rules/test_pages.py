"""The pages of the rules: whole, and the same in docs/rules as in the code."""

import subprocess
import sys

import pytest

from jaxdoctor.facts.finding import Finding, Location, Severity
from jaxdoctor.rules import pages
from jaxdoctor.rules.rule import RULES

SECTIONS = ("## What it saw", "## Why it matters", "## What to do", "## Example", "## Sources")


def test_docs_rules_are_what_the_docstrings_say():
    """After changing a rule's page, run `python -m jaxdoctor.rules.pages`."""
    assert pages.stale() == []


@pytest.mark.parametrize("rule", pages.by_code(), ids=lambda rule: rule.name)
def test_each_page_has_its_sections_in_order(rule):
    places = [rule.page.find(f"\n{section}\n") for section in SECTIONS]

    assert -1 not in places, dict(zip(SECTIONS, places, strict=True))
    assert places == sorted(places)


@pytest.mark.parametrize("rule", pages.by_code(), ids=lambda rule: rule.name)
def test_each_page_begins_with_one_sentence_and_shows_its_own_finding(rule):
    assert rule.summary.endswith(".")
    assert len(rule.summary) < 110
    assert rule.code in rule.page.partition("## Example")[2]
    assert "https://" in rule.page.partition("## Sources")[2]


def test_codes_are_unique_and_of_a_known_group():
    codes = [rule.code for rule in pages.by_code()]

    assert len(set(codes)) == len(codes)
    assert {code[:3] for code in codes} <= set(pages.GROUPS)


def test_writing_changes_only_what_is_stale(tmp_path):
    pages.write(tmp_path)
    (tmp_path / "gone-rule.md").write_text("an old page")
    (tmp_path / "tf32-by-default.md").write_text("drifted")

    assert pages.write(tmp_path) == ["gone-rule.md", "tf32-by-default.md"]
    assert pages.stale(tmp_path) == []
    assert not (tmp_path / "gone-rule.md").exists()


def test_the_command_says_that_nothing_is_stale():
    done = subprocess.run(
        [sys.executable, "-m", "jaxdoctor.rules.pages", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "")


def test_a_finding_of_a_rule_that_is_gone_has_no_page():
    """Reports that an older or newer jaxdoctor wrote may name rules that this one does not have."""
    known = Finding(
        code="JD101", name="tf32-by-default", severity=Severity.NOTE, location=Location(), message=""
    )
    gone = Finding(code="JD999", name="of-the-past", severity=Severity.NOTE, location=Location(), message="")

    assert pages.rules_of([known, gone]) == {"JD101": RULES.load("tf32-by-default")}
