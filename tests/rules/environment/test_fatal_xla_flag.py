"""JD105: flags that end the process."""

import pytest

from jaxdoctor.rules.environment.fatal_xla_flag import fatal_xla_flag
from tests.environments import environment, only


def test_a_flag_that_does_not_exist_is_told_with_what_does():
    finding = only(fatal_xla_flag, environment(unknown_xla_flags=("xla_gpu_enable_tf32=true",)))

    assert finding.fix == "remove it; JAX_DEFAULT_MATMUL_PRECISION=highest avoids TF32"


def test_a_flag_whose_value_stands_behind_a_space_is_put_right():
    fact = environment(unknown_xla_flags=("xla_gpu_autotune_level",), unread_xla_flags="4 --xla_gpu_ftz=true")

    (finding,) = fatal_xla_flag.judge(fact)

    assert finding.fix == "write --xla_gpu_autotune_level=4, without a space"


def test_a_value_that_xla_cannot_interpret_ends_it_too():
    fact = environment(refused_xla_flags={"xla_gpu_ftz=maybe": "XLA cannot interpret the value 'maybe'"})

    (finding,) = fatal_xla_flag.judge(fact)

    assert finding.message == "--xla_gpu_ftz=maybe ends the process: XLA cannot interpret the value 'maybe'"


def test_flags_without_a_dash_are_a_file_to_xla():
    (finding,) = fatal_xla_flag.judge(environment(refused_xla_flags={"XLA_FLAGS": "no such file"}))

    assert finding.message == "XLA_FLAGS ends the process: no such file"


@pytest.mark.parametrize(
    "fact",
    [
        environment(),
        environment(xla_flags={"xla_gpu_ftz": "true"}),
    ],
)
def test_its_neighbours_are_healthy(fact):
    assert not list(fatal_xla_flag.judge(fact))
