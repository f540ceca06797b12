"""JD110: a pool in which batched Cholesky hangs."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.environment.cholesky_pool_too_small import cholesky_pool_too_small
from tests.environments import CPU, environment, only


def test_two_threads_are_too_few():
    only(cholesky_pool_too_small, environment("cpu", cpu_threads=2))


def test_it_is_a_note_where_a_card_stands_in_for_this_cpu():
    fact = environment("rtx-4090", here=CPU, cpu_threads=4, assumed="no accelerator here")

    (finding,) = cholesky_pool_too_small.judge(fact)

    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    "fact",
    [
        environment("cpu", cpu_threads=16),
        environment("cpu", cpu_threads=1),
        environment("rtx-4090", cpu_threads=2),
        environment("rtx-4090", here=CPU, cpu_threads=2, elsewhere=True),
        environment("cpu", cpu_threads=2, versions={"jaxlib": "0.9.2"}),
        environment("cpu", cpu_threads=None),
    ],
)
def test_its_neighbours_are_healthy(fact):
    assert not list(cholesky_pool_too_small.judge(fact))
