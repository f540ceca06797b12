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
    assert finding.message == "step is 20,000 and opt_state/0/count is 12,000"


def torch_state(step, *counts, name="global_step"):
    return checkpoint(
        leaf(name, "int64", role="counter", value=step, host_scalar=True),
        *(
            leaf(f"optimizers/{index}/state/0/step", "float32", role="counter", value=float(count))
            for index, count in enumerate(counts)
        ),
        layout="torch",
    )


@pytest.mark.parametrize("count", [12, 15000, 0])
def test_an_optimizer_of_torch_younger_than_the_run_is_told(count):
    (finding,) = judged(counter_disagrees, torch_state(20000, count))

    assert finding.message == f"global_step is 20,000 and optimizers/0/state/0/step is {count:,}"


@pytest.mark.parametrize(
    "saved",
    [
        torch_state(20000, 20000),
        torch_state(20000, 19900),
        torch_state(20000, 5000),
        torch_state(20000, 16667, 3333),
        torch_state(500, 20000),
        torch_state(20000, 12, name="iter"),
    ],
    ids=["equal", "skipped", "gathered", "two optimizers", "many a step", "iterations"],
)
def test_neighbours_in_torch_are_healthy(saved):
    assert not judged(counter_disagrees, saved)


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
