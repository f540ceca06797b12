"""JD290."""

from dataclasses import replace

import pytest

from jaxdoctor.facts.outcome import Demand, Outcome, Verdict
from jaxdoctor.rules.precision.margin_below_demand import margin_below_demand

SPARSE = Outcome(
    subject="hand.xml",
    trials=(),
    verdict=Verdict.HEALTHY,
    required_bits=9,
    delivered_bits=10,
    delivered_by="rtx-4090",
)


def test_a_margin_below_the_demand_is_an_error():
    (finding,) = margin_below_demand.judge(Demand(outcome=SPARSE, margin_bits=3))

    assert finding.code == "JD290"
    assert finding.message == "+1 bit to spare, 3 demanded: requires 9, rtx-4090 delivers 10"
    assert finding.location.path == "hand.xml"
    assert finding.evidence["margin_bits"] == 1


@pytest.mark.parametrize("margin_bits", [1, 0, -5])
def test_a_margin_that_is_just_kept_is_silent(margin_bits):
    assert list(margin_below_demand.judge(Demand(outcome=SPARSE, margin_bits=margin_bits))) == []


def test_an_unknown_margin_is_not_judged():
    unknown = replace(SPARSE, required_bits=None, verdict=Verdict.UNKNOWN)

    assert list(margin_below_demand.judge(Demand(outcome=unknown, margin_bits=3))) == []
