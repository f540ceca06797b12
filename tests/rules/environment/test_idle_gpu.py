"""JD118: a card that JAX does not use."""

import pytest

from jaxdoctor.rules.environment.idle_gpu import idle_gpu
from tests.environments import environment, only


def test_a_card_beside_a_jax_on_the_cpu_is_told():
    only(idle_gpu, environment("cpu", idle_gpus=("Tesla T4",)))


def test_where_the_user_chose_the_cpu_it_is_a_note():
    fact = environment("cpu", idle_gpus=("Tesla T4",), settings={"JAX_PLATFORMS": "cpu"})

    (finding,) = idle_gpu.judge(fact)

    assert (finding.severity.word, finding.fix) == ("note", "unset JAX_PLATFORMS")


@pytest.mark.parametrize(
    "fact",
    [
        environment("cpu"),
        environment("t4"),
    ],
)
def test_its_neighbours_are_healthy(fact):
    assert not list(idle_gpu.judge(fact))


def test_a_report_for_another_machine_leaves_it_out():
    here, there = (environment(idle_gpus=("Tesla T4",), elsewhere=elsewhere) for elsewhere in (False, True))

    assert list(idle_gpu.judge(here))
    assert not list(idle_gpu.judge(there))
