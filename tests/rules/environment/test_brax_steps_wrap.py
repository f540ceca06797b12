"""JD112: Brax that counts steps in int32."""

import pytest

from jaxdoctor.rules.environment.brax_steps_wrap import brax_steps_wrap
from tests.environments import environment, only


def test_the_last_version_that_wraps_is_told():
    only(brax_steps_wrap, environment(versions={"brax": "0.12.1"}))


@pytest.mark.parametrize(
    "fact",
    [
        environment(versions={"brax": "0.12.2"}),
        environment(versions={"brax": "0.14.2"}),
        environment(versions={"brax": None}),
        environment(),
    ],
)
def test_its_neighbours_are_healthy(fact):
    assert not list(brax_steps_wrap.judge(fact))


def test_a_report_for_another_machine_leaves_it_out():
    here, there = (
        environment(versions={"brax": "0.12.1"}, elsewhere=elsewhere) for elsewhere in (False, True)
    )

    assert list(brax_steps_wrap.judge(here))
    assert not list(brax_steps_wrap.judge(there))
