"""JD117: variables that JAX does not know."""

import pytest

from jaxdoctor.rules.environment.jax_ignores_variable import jax_ignores_variable
from tests.environments import environment, only


def test_a_mistyped_name_is_told_with_the_right_one():
    fact = environment(
        settings={"JAX_MATMUL_PRECISION": "highest"},
        unread_settings={"JAX_MATMUL_PRECISION": "JAX_DEFAULT_MATMUL_PRECISION"},
    )

    only(jax_ignores_variable, fact)


@pytest.mark.parametrize(
    "fact",
    [
        environment(),
        environment(settings={"JAX_DEFAULT_MATMUL_PRECISION": "highest"}),
    ],
)
def test_its_neighbours_are_healthy(fact):
    assert not list(jax_ignores_variable.judge(fact))
