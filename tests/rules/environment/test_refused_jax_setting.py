"""JD104: values that JAX raises on."""

import pytest

from jaxdoctor.rules.environment.refused_jax_setting import refused_jax_setting
from tests.environments import environment, only


def test_the_enum_of_popular_advice_is_refused():
    name = "JAX_DEFAULT_MATMUL_PRECISION"
    fact = environment(
        settings={name: "jax.lax.Precision.HIGH"}, refused_settings={name: "ValueError: Invalid value"}
    )

    finding = only(refused_jax_setting, fact)

    assert finding.evidence["jax_says"] == "ValueError: Invalid value"
    assert finding.fix == f"set it to highest, or unset {name}"


def test_another_variable_gets_no_advice_about_precision():
    fact = environment(
        settings={"JAX_ENABLE_X64": "maybe"}, refused_settings={"JAX_ENABLE_X64": "ValueError: no"}
    )

    (finding,) = refused_jax_setting.judge(fact)

    assert finding.fix == "unset JAX_ENABLE_X64"


@pytest.mark.parametrize(
    "fact",
    [
        environment(),
        environment(settings={"JAX_DEFAULT_MATMUL_PRECISION": "highest"}),
    ],
)
def test_its_neighbours_are_healthy(fact):
    assert not list(refused_jax_setting.judge(fact))
