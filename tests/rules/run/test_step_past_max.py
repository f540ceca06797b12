"""Runs past their own last step."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.run.step_past_max import step_past_max
from tests.builders import checkpoint, judged


def state(step, last):
    return checkpoint(step=step, metadata={"global_step": step, "max_steps": last})


def test_a_step_beyond_the_last_is_told():
    (finding,) = judged(step_past_max, state(520, 502))

    assert finding.severity is Severity.ERROR
    assert finding.message == "global_step is 520 and max_steps is 502"


@pytest.mark.parametrize("last", [502, 520, -1, 0, None])
def test_neighbours_are_healthy(last):
    """Zero and -1 mean that the epochs decide."""
    assert not judged(step_past_max, state(500, last))
