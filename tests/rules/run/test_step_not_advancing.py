"""Saves at the same step."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.run.step_not_advancing import step_not_advancing
from tests.builders import checkpoint, counts, judged, leaf, series


def test_one_global_step_in_two_folders_is_told():
    run = series(*(checkpoint(step=step, metadata={"global_step": 500}) for step in (500, 1000)))

    (finding,) = judged(step_not_advancing, run)

    assert finding.severity is Severity.WARNING
    assert finding.message == "global_step stays at 500 from run/500 to run/1000"


def test_counters_that_stand_still_are_told():
    (finding,) = judged(step_not_advancing, counts("step", [1000, 1000]))

    assert finding.message == "step stays at 1,000 from run/1000 to run/2000"


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("step", [1000, 2000]),
        ("step", [0, 0]),
        ("step", [2**31 - 1, 2**31 - 1]),
        ("opt_state/total_notfinite", [3, 3]),
        ("model/rngs/default/count/value", [7, 7]),
    ],
    ids=["growing", "never begun", "saturated", "rejected updates", "draws"],
)
def test_neighbours_are_healthy(path, values):
    assert not judged(step_not_advancing, counts(path, values))


def test_one_counter_of_several_may_rest():
    """One of two optimizers can be frozen."""
    run = series(
        *(
            checkpoint(
                leaf("actor/count", "int32", role="counter", value=step),
                leaf("critic/count", "int32", role="counter", value=7),
                step=step,
            )
            for step in (100, 200)
        )
    )

    assert not judged(step_not_advancing, run)
