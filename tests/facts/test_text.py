"""The words that every format shares."""

from jaxdoctor.facts.outcome import Outcome, Verdict
from jaxdoctor.reports.wording import needs, signed


def test_a_margin_has_a_sign():
    outcome = Outcome(
        subject="hand.xml", trials=(), verdict=Verdict.PRECISION, required_bits=13, delivered_bits=10
    )

    assert signed(outcome) == "-3 bits"
    assert needs(outcome) == "requires 13, this machine delivers 10"


def test_bits_are_not_the_question_where_the_model_fails():
    """A model that float64 breaks has no margin: more bits would not mend it."""
    outcome = Outcome(subject="chain.xml", trials=(), verdict=Verdict.MODEL, delivered_bits=10)

    assert signed(outcome) == "none"
    assert needs(outcome) == "no number of bits mends it, this machine delivers 10"
