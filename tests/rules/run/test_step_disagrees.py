"""A name and the step inside."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.run.step_disagrees import step_disagrees
from tests.builders import checkpoint, judged


def test_another_step_than_the_name_tells_is_told():
    saved = checkpoint(step=900, named_step=1000, metadata={"global_step": 900})

    (finding,) = judged(step_disagrees, saved)

    assert finding.severity is Severity.WARNING
    assert finding.message == "global_step is 900, and its name tells 1000"


@pytest.mark.parametrize("named", [900, None])
def test_neighbours_are_healthy(named):
    assert not judged(step_disagrees, checkpoint(step=900, named_step=named, metadata={"global_step": 900}))
