"""Two counts that tell different steps."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.counters.counter_disagrees import counter_disagrees
from tests.builders import checkpoint, judged, leaf


def state(step, count, *more, named=None):
    return checkpoint(
        leaf("step", "int32", role="counter", value=step),
        leaf("opt_state/0/count", "int32", role="counter", value=count),
        *more,
        step=named,
    )


def test_a_step_beside_another_count_is_told():
    (finding,) = judged(counter_disagrees, state(20000, 12000))

    assert finding.severity is Severity.WARNING
    assert finding.message == "step is 20000 and opt_state/0/count is 12000"


def test_a_step_beside_another_name_is_told():
    (finding,) = judged(counter_disagrees, state(900, 900, named=1000))

    assert finding.message == "step is 900 and the name of the checkpoint is 1000"


@pytest.mark.parametrize(
    "saved",
    [
        state(20000, 20000, named=20000),
        state(1000, 999, named=1001),
        state(50000, 50000, named=5),
        state(20000, 5000, leaf("opt_state/mini_step", "int32", role="counter", value=0)),
        state(20000, 19988, leaf("opt_state/total_notfinite", "int32", role="counter", value=12)),
        state(2000, 2000, leaf("opt_state/1/count", "int32", role="counter", value=100)),
    ],
    ids=["equal", "off by one", "named by epoch", "gathered", "thrown away", "a second count"],
)
def test_neighbours_are_healthy(saved):
    assert not judged(counter_disagrees, saved)


def test_a_resumed_brax_run_is_healthy():
    """The normaliser's count goes on, and the folders start again."""
    saved = checkpoint(leaf("0/count", "float32", role="counter", value=5e6), step=1_000_000, layout="brax")

    assert not judged(counter_disagrees, saved)
