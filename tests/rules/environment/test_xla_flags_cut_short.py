"""JD116: flags that XLA never looks at."""

import pytest

from jaxdoctor.rules.environment.xla_flags_cut_short import xla_flags_cut_short
from tests.environments import environment, only


def test_flags_behind_a_loose_word_are_lost():
    only(xla_flags_cut_short, environment(unread_xla_flags="4 --xla_gpu_deterministic_ops=true"))


def test_a_loose_word_at_the_end_loses_only_itself():
    (finding,) = xla_flags_cut_short.judge(environment(unread_xla_flags="4"))

    assert finding.message == "XLA stops reading XLA_FLAGS at '4'"


@pytest.mark.parametrize(
    "fact",
    [
        environment(),
    ],
)
def test_its_neighbours_are_healthy(fact):
    assert not list(xla_flags_cut_short.judge(fact))
