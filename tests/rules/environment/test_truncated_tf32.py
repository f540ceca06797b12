"""JD103: operands cut off in old jaxlibs."""

import pytest

from jaxdoctor.rules.environment.truncated_tf32 import truncated_tf32
from tests.environments import deliveries, only


def test_a_jaxlib_of_the_window_truncates():
    assert only(truncated_tf32, deliveries("rtx-4090", "0.5.3")).evidence["jaxlib"] == "0.5.3"


def test_so_does_an_older_one_with_triton_for_any_product():
    fact = deliveries("rtx-4080", "0.4.38", xla_flags={"xla_gpu_triton_gemm_any": "True"})

    assert len(list(truncated_tf32.judge(fact))) == 1


@pytest.mark.parametrize(
    "fact",
    [
        deliveries("rtx-4090", "0.6.0"),
        deliveries("rtx-4090", "0.4.38"),
        deliveries("t4", "0.5.3"),
        deliveries("rtx-4090", "0.5.3", configured="highest"),
        deliveries("rtx-4090", "0.5.3", xla_flags={"xla_gpu_enable_triton_gemm": "false"}),
    ],
    ids=["rounds", "Triton off by default", "no TF32", "highest", "no Triton"],
)
def test_rounding_is_healthy(fact):
    assert not list(truncated_tf32.judge(fact))
