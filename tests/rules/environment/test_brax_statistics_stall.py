"""JD113: Brax that counts observations in float32."""

import pytest

from jaxdoctor.rules.environment.brax_statistics_stall import brax_statistics_stall
from tests.environments import environment, only


def test_the_last_version_that_stalls_is_told():
    only(brax_statistics_stall, environment(versions={"brax": "0.13.0"}))


@pytest.mark.parametrize(
    "fact",
    [
        environment(versions={"brax": "0.14.0"}),
        environment(versions={"brax": None}),
    ],
)
def test_its_neighbours_are_healthy(fact):
    assert not list(brax_statistics_stall.judge(fact))


def test_a_report_for_another_machine_leaves_it_out():
    here, there = (
        environment(versions={"brax": "0.13.0"}, elsewhere=elsewhere) for elsewhere in (False, True)
    )

    assert list(brax_statistics_stall.judge(here))
    assert not list(brax_statistics_stall.judge(there))
