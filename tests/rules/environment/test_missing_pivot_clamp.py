"""JD109: MuJoCo without a bound on its pivots."""

import pytest

from jaxdoctor.rules.environment.missing_pivot_clamp import missing_pivot_clamp
from tests.environments import environment, only


@pytest.mark.parametrize("version", ["3.3.0", "3.5.0", "3.12.1"])
def test_these_versions_lack_it(version):
    assert len(list(missing_pivot_clamp.judge(environment(versions={"mujoco": version})))) == 1


def test_as_the_page_shows_it():
    only(missing_pivot_clamp, environment(versions={"mujoco": "3.5.0"}))


@pytest.mark.parametrize(
    "fact",
    [
        environment(versions={"mujoco": "3.2.7"}),
        environment(versions={"mujoco": "3.13.0"}),
        environment(versions={"mujoco": "4.0.0"}),
        environment(versions={"mujoco": None}),
    ],
)
def test_its_neighbours_are_healthy(fact):
    assert not list(missing_pivot_clamp.judge(fact))
