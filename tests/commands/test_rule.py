"""`jaxdoctor rule`: the list, a page, and both for programs."""

import json

import pytest
from typer.testing import CliRunner

from jaxdoctor.cli import build
from jaxdoctor.errors import UnknownNameError
from jaxdoctor.rules.rule import RULES


def rule(*arguments):
    return CliRunner().invoke(build(), ["rule", *arguments], catch_exceptions=False).stdout


def test_every_rule_stands_in_the_list_by_code():
    lines = rule().splitlines()

    assert len(lines) == len(RULES.names())
    assert [line[:5] for line in lines] == sorted(line[:5] for line in lines)


@pytest.mark.parametrize("name", ["JD101", "jd101", "tf32-by-default", "tf32_by_default"])
def test_a_page_is_found_by_code_and_by_name(name):
    page = rule(name)

    assert page.startswith("# tf32-by-default (JD101, note)\n\nFloat32 products get fewer than 23")
    assert "## Why it matters" in page
    assert page.endswith("\n")
    assert not page.endswith("\n\n")


def test_json_holds_what_the_page_says():
    document = json.loads(rule("JD101", "--format", "json"))

    (entry,) = document["rules"]
    assert document["schema"] == "jaxdoctor.rules.rules/1"
    assert entry["name"] == "tf32-by-default"
    assert entry["url"].endswith("/docs/rules/tf32-by-default.md")
    assert rule("JD101") == f"# tf32-by-default (JD101, note)\n\n{entry['page']}\n"


def test_json_without_a_name_holds_all_rules():
    assert len(json.loads(rule("--format", "json"))["rules"]) == len(RULES.names())


@pytest.mark.parametrize(
    ("word", "codes"),
    [("JD30", {"JD301"}), ("nan", {"JD106", "JD201", "JD203", "JD301"}), ("tf32", {"JD101"})],
)
def test_a_word_lists_the_rules_near_to_it(word, codes):
    """The beginning of codes, or a word of a name or of a first sentence."""
    lines = rule(word).splitlines()

    assert codes <= {line[:5] for line in lines}
    assert 1 < len(lines) < len(RULES.names()) / 2


def test_a_mistyped_rule_names_the_nearest():
    with pytest.raises(UnknownNameError, match="no rule named 'tf32-by-defualt'") as caught:
        rule("tf32-by-defualt")

    assert "did you mean 'tf32-by-default'?" in caught.value.hint


def test_an_unknown_format_is_refused():
    with pytest.raises(UnknownNameError, match="no format of rules named 'xml'"):
        rule("--format", "xml")
