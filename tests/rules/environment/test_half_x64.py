"""JD107: 64 bits for some arrays only."""

import pytest

from jaxdoctor.rules.environment.half_x64 import half_x64
from tests.environments import environment, only


def test_explicit_dtypes_without_x64_are_half():
    only(half_x64, environment(settings={"JAX_EXPLICIT_X64_DTYPES": "allow"}))


def test_x64_with_32_bits_by_default_is_half_where_jax_still_has_the_option():
    fact = environment(settings={"JAX_DEFAULT_DTYPE_BITS": "32"}, x64=True, versions={"jax": "0.9.2"})

    (finding,) = half_x64.judge(fact)

    assert (
        finding.message
        == "JAX_DEFAULT_DTYPE_BITS=32 with JAX_ENABLE_X64: arrays without a dtype stay float32"
    )


@pytest.mark.parametrize(
    "fact",
    [
        environment(x64=True),
        environment(settings={"JAX_EXPLICIT_X64_DTYPES": "allow"}, x64=True),
        environment(settings={"JAX_EXPLICIT_X64_DTYPES": "error"}),
        environment(settings={"JAX_DEFAULT_DTYPE_BITS": "32"}, x64=True),
        environment(settings={"JAX_DEFAULT_DTYPE_BITS": "32"}, versions={"jax": "0.9.2"}),
    ],
)
def test_its_neighbours_are_healthy(fact):
    assert not list(half_x64.judge(fact))
