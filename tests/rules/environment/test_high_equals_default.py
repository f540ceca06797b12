"""JD102: HIGH is not more than DEFAULT."""

from dataclasses import replace

from jaxdoctor.facts.delivery import Arithmetic, Deliveries
from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.environment.high_equals_default import high_equals_default
from tests.environments import deliveries, only


def test_high_that_gives_nothing_is_told():
    assert only(high_equals_default, deliveries("rtx-4090")).severity is Severity.NOTE


def test_relying_on_it_is_worse():
    (finding,) = high_equals_default.judge(deliveries("rtx-4090", configured="high"))

    assert finding.severity is Severity.WARNING


def test_products_that_high_does_protect_are_left_out():
    """Up to jaxlib 0.11.0 a product that Triton takes is float32 under HIGH."""
    fact = deliveries("rtx-4090")
    products = tuple(
        replace(each, arithmetic=Arithmetic.F32, mantissa_bits=23)
        if each.setting == "high" and each.shape.startswith("1024x")
        else each
        for each in fact.products
    )

    (finding,) = high_equals_default.judge(Deliveries(machine="rtx-4090", products=products))

    assert finding.evidence["equal"] == finding.evidence["shortened"] - 4


def test_high_that_helps_everywhere_is_healthy():
    """A TPU computes it in three passes of bfloat16."""
    assert not list(high_equals_default.judge(deliveries("tpu-v5e")))


def test_where_default_is_float32_nothing_is_said():
    assert not list(high_equals_default.judge(deliveries("v100")))


def test_only_a_measurement_is_said_as_a_fact():
    """What the table tells of a card that is not here stays a possibility."""
    fact = deliveries("rtx-4090")
    here = replace(fact, products=tuple(replace(each, source="measured") for each in fact.products))

    (expected,) = high_equals_default.judge(fact)
    (measured,) = high_equals_default.judge(here)

    assert "may keep only 10 of 23 bits under HIGH too" in expected.message
    assert "keep 10 of 23 bits under HIGH too" in measured.message
