"""JD108: an override that not every kernel obeys."""

import pytest

from jaxdoctor.rules.environment.tf32_override_misses_triton import tf32_override_misses_triton
from tests.environments import environment, only


def test_triton_does_not_know_the_override():
    only(tf32_override_misses_triton, environment(settings={"NVIDIA_TF32_OVERRIDE": "0"}))


@pytest.mark.parametrize(
    "fact",
    [
        environment(),
        environment("t4", settings={"NVIDIA_TF32_OVERRIDE": "0"}),
        environment(settings={"NVIDIA_TF32_OVERRIDE": "1"}),
        environment(
            settings={"NVIDIA_TF32_OVERRIDE": "0"}, xla_flags={"xla_gpu_enable_triton_gemm": "false"}
        ),
        environment(settings={"NVIDIA_TF32_OVERRIDE": "0", "JAX_DEFAULT_MATMUL_PRECISION": "highest"}),
    ],
)
def test_its_neighbours_are_healthy(fact):
    assert not list(tf32_override_misses_triton.judge(fact))
