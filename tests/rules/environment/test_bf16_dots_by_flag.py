"""JD111: a flag that means bfloat16."""

import pytest

from jaxdoctor.rules.environment.bf16_dots_by_flag import bf16_dots_by_flag
from tests.environments import environment, only


def test_the_flag_is_told():
    only(bf16_dots_by_flag, environment(xla_flags={"xla_gpu_default_to_alg_dot_bf16_bf16_f32": "true"}))


@pytest.mark.parametrize(
    "fact",
    [
        environment(),
        environment(xla_flags={"xla_gpu_default_to_alg_dot_bf16_bf16_f32": "false"}),
    ],
)
def test_its_neighbours_are_healthy(fact):
    assert not list(bf16_dots_by_flag.judge(fact))
