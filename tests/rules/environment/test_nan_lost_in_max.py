"""JD106: maxima that drop NaN."""

import pytest

from jaxdoctor.rules.environment.nan_lost_in_max import nan_lost_in_max
from tests.environments import environment, only


@pytest.mark.parametrize("value", ["true", "True", "1"])
def test_the_flag_is_told(value):
    fact = environment(xla_flags={"xla_gpu_enable_fast_min_max": value})

    assert len(list(nan_lost_in_max.judge(fact))) == 1


def test_as_the_page_shows_it():
    only(nan_lost_in_max, environment(xla_flags={"xla_gpu_enable_fast_min_max": "true"}))


@pytest.mark.parametrize(
    "fact",
    [
        environment(),
        environment(xla_flags={"xla_gpu_enable_fast_min_max": "false"}),
        environment(xla_flags={"xla_cpu_enable_fast_min_max": "true"}),
    ],
)
def test_its_neighbours_are_healthy(fact):
    assert not list(nan_lost_in_max.judge(fact))
