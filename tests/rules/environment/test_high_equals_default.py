"""JD102: HIGH is not more than DEFAULT."""

from dataclasses import replace

import pytest

from jaxdoctor.facts.delivery import Arithmetic, Deliveries
from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.environment.high_equals_default import high_equals_default
from tests.environments import deliveries, only


def test_high_that_gives_nothing_is_told():
    assert only(high_equals_default, deliveries("rtx-4090", "0.12.0.1")).severity is Severity.NOTE


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


@pytest.mark.parametrize(
    ("fact", "certain"),
    [
        (deliveries("rtx-4090", "0.10.2"), False),
        (deliveries("rtx-4090", "0.11.0"), False),
        (deliveries("rtx-4090", "0.11.1"), True),
        (deliveries("h100", "0.12.0.1"), True),
        # cuBLAS leaves TF32 out, Triton does not: it depends on which is chosen.
        (deliveries("rtx-4090", "0.12.0.1", tf32_override="0"), False),
        # Without Triton cuBLAS is left, which takes HIGH as TF32 in every release.
        (deliveries("rtx-4090", "0.10.2", xla_flags={"xla_gpu_enable_triton_gemm": "false"}), True),
    ],
)
def test_what_every_kernel_does_is_said_as_a_fact(fact, certain):
    (finding,) = high_equals_default.judge(fact)

    assert ("may stay at 10 of 23 bits" in finding.message) is not certain
    assert finding.evidence["certain"] is certain


def test_a_measurement_is_said_as_a_fact():
    fact = deliveries("rtx-4090", "0.10.2")
    here = replace(fact, products=tuple(replace(each, source="measured") for each in fact.products))

    (measured,) = high_equals_default.judge(here)

    assert "DEFAULT shortens stay at 10 of 23 bits" in measured.message
