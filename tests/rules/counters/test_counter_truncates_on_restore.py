"""64-bit counts that x32 cannot hold."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.counters.counter_truncates_on_restore import counter_truncates_on_restore
from tests.builders import checkpoint, judged, leaf


def count(value, dtype="int64", **fields):
    layout = fields.pop("layout", "orbax")
    return checkpoint(leaf("step", dtype, role="counter", value=value, **fields), layout=layout)


def test_what_would_be_restored_is_told():
    """Measured: Orbax restores 2^33 + 5 as 5 in a process without x64, and does not warn."""
    (finding,) = judged(counter_truncates_on_restore, count(2**33 + 5))

    assert finding.severity is Severity.WARNING
    assert finding.message == "step is 8,589,934,597 in int64; without x64 it is restored as 5"


@pytest.mark.parametrize(
    "saved",
    [
        count(2**31 - 1),
        count(2**33, host_scalar=True),
        count(2**33, layout="torch"),
        count(2**31 + 5, "uint32"),
    ],
    ids=["fits", "Python number", "not JAX's", "32 bits"],
)
def test_neighbours_are_healthy(saved):
    assert not judged(counter_truncates_on_restore, saved)
