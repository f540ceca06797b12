"""JD114: Brax and a JAX that lacks a function it calls."""

import pytest

from jaxdoctor.rules.environment.brax_needs_older_jax import brax_needs_older_jax
from tests.environments import environment, only


def test_the_two_versions_do_not_go_together():
    only(brax_needs_older_jax, environment(versions={"brax": "0.14.2"}))


@pytest.mark.parametrize(
    "fact",
    [
        environment(versions={"brax": "0.14.2", "jax": "0.9.2"}),
        environment(versions={"brax": "0.14.3"}),
        environment(versions={"brax": None}),
        environment(versions={"brax": "0.14.2", "jax": None}),
    ],
)
def test_its_neighbours_are_healthy(fact):
    assert not list(brax_needs_older_jax.judge(fact))


def test_a_report_for_another_machine_leaves_it_out():
    here, there = (
        environment(versions={"brax": "0.14.2"}, elsewhere=elsewhere) for elsewhere in (False, True)
    )

    assert list(brax_needs_older_jax.judge(here))
    assert not list(brax_needs_older_jax.judge(there))
