"""JD119: float64 on a card that has little of it."""

import pytest

from jaxdoctor.rules.environment.slow_float64 import slow_float64
from tests.environments import environment, only


def test_x64_on_a_geforce_is_told():
    only(slow_float64, environment("rtx-4090", x64=True))


@pytest.mark.parametrize(
    "fact",
    [
        environment("rtx-4090"),
        environment("a100", x64=True),
        environment("cpu", x64=True),
    ],
)
def test_its_neighbours_are_healthy(fact):
    assert not list(slow_float64.judge(fact))
