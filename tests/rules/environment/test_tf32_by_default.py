"""JD101: products that lose bits as JAX is configured."""

import pytest

from jaxdoctor.rules.environment.tf32_by_default import tf32_by_default
from tests.environments import deliveries, only


def test_tf32_is_told_with_its_products():
    finding = only(tf32_by_default, deliveries("rtx-4090"))

    assert finding.evidence["mantissa_bits"] == 10
    assert finding.evidence["source"] == "card"
    assert "1x64 @ 64x256" not in finding.evidence["shapes"]


def test_a_tpu_keeps_seven_bits():
    (finding,) = tf32_by_default.judge(deliveries("tpu-v5e"))

    assert finding.message.startswith("16 of 16 tested matrix shapes get 7 of 23 mantissa bits (bf16)")


@pytest.mark.parametrize(
    "fact",
    [
        deliveries("t4"),
        deliveries("rtx-4090", configured="highest"),
        deliveries("rtx-4090", configured="x64"),
        deliveries("rtx-4090", settings=()),
    ],
    ids=["no TF32", "configured to highest", "x64", "nothing probed"],
)
def test_full_float32_is_healthy(fact):
    assert not list(tf32_by_default.judge(fact))
