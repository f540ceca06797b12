"""JD115: physics outside of JAX."""

import pytest

from jaxdoctor.rules.environment.warp_ignores_precision import warp_ignores_precision
from tests.environments import environment, only


def test_playground_with_warp_is_told():
    only(warp_ignores_precision, environment(versions={"playground": "0.2.0"}))


@pytest.mark.parametrize(
    "fact",
    [
        environment(versions={"playground": "0.0.5"}),
        environment(versions={"playground": None}),
        environment(),
    ],
)
def test_its_neighbours_are_healthy(fact):
    assert not list(warp_ignores_precision.judge(fact))
