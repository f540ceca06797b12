"""Counters at the largest number of their type."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.counters.counter_saturated import counter_saturated
from tests.builders import checkpoint, judged, leaf


@pytest.mark.parametrize(("dtype", "value"), [("int32", 2**31 - 1), ("uint32", 2**32 - 1)])
def test_the_maximum_is_told(dtype, value):
    (finding,) = judged(
        counter_saturated, checkpoint(leaf("opt_state/0/count", dtype, role="counter", value=value))
    )

    assert finding.severity is Severity.ERROR
    assert finding.message == f"opt_state/0/count is {value:,}, the largest {dtype}: it counts no more"


def test_one_below_it_still_counts():
    saved = checkpoint(leaf("opt_state/0/count", "int32", role="counter", value=2**31 - 2))

    assert not judged(counter_saturated, saved)


def test_a_python_number_has_no_maximum():
    saved = checkpoint(leaf("step", "int64", role="counter", value=2**63 - 1, host_scalar=True))

    assert not judged(counter_saturated, saved)
