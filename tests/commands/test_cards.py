"""`jaxdoctor cards`: every card with its bits and class."""

import json

import pytest
from typer.testing import CliRunner

from jaxdoctor.cli import build
from jaxdoctor.errors import UnknownNameError
from jaxdoctor.machine.card import known_cards


def cards(*arguments):
    return CliRunner().invoke(build(), ["cards", *arguments], catch_exceptions=False).stdout


def test_every_card_stands_in_the_list():
    lines = cards().splitlines()

    assert len(lines) == 1 + len(known_cards())
    assert lines[0].split() == ["card", "class", "capability", "default", "bfloat16", "float64", "memory"]


@pytest.mark.parametrize(
    ("word", "row"),
    [
        ("rtx-4090", ["rtx-4090", "GeForce", "8.9", "10", "bits", "native", "1/64", "24", "GiB"]),
        ("t4", ["t4", "datacenter", "7.5", "23", "bits", "by", "float32", "1/32", "16", "GiB"]),
        ("TPU", None),
    ],
)
def test_a_word_chooses_cards_by_name_class_or_family(word, row):
    rows = [line.split() for line in cards(word).splitlines()[1:]]

    assert row is None or row in rows
    assert rows
    assert len(rows) < len(known_cards())


def test_json_holds_the_same():
    document = json.loads(cards("h100", "--format", "json"))

    (entry,) = [one for one in document["cards"] if one["name"] == "h100"]
    assert (entry["default_bits"], entry["tf32"], entry["bf16"], entry["class"]) == (
        10,
        True,
        True,
        "datacenter",
    )


def test_a_card_that_is_not_there_names_the_nearest():
    with pytest.raises(UnknownNameError) as caught:
        cards("rtx-4091")

    assert "did you mean 'rtx-4090'?" in caught.value.hint
