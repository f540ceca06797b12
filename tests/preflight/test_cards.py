"""bfloat16 for the cards that somebody names."""

import pytest

from jaxdoctor.errors import UnknownNameError
from jaxdoctor.facts.report import Report
from jaxdoctor.preflight.cards import for_cards
from tests.builders import checkpoint, leaf

SAVED = Report(
    command="scan-checkpoint", subject="run", examined=1, checkpoints=(checkpoint(leaf("w", "bfloat16")),)
)


@pytest.mark.parametrize(
    ("card", "codes"), [("t4", ["JD130"]), ("v100", ["JD130"]), ("h100", []), ("here", [])]
)
def test_bfloat16_is_told_for_cards_that_do_not_multiply_it(card, codes):
    assert [finding.code for finding in for_cards(SAVED, [card]).findings] == codes


def test_a_card_that_nobody_knows_is_refused():
    with pytest.raises(UnknownNameError):
        for_cards(SAVED, ["t9"])
