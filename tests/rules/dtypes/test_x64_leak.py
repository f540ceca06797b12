"""64-bit leaves among 32-bit ones."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.dtypes.x64_leak import x64_leak
from tests.builders import checkpoint, judged, leaf


def test_one_float64_among_float32_is_told():
    saved = checkpoint(leaf("params/w", shape=(3,)), leaf("params/scale", "float64"))

    (finding,) = judged(x64_leak, saved)

    assert finding.severity is Severity.WARNING
    assert finding.message == "1 float64 leaf among 1 of float32, the first is params/scale"


def test_int64_beside_int32_is_a_note():
    saved = checkpoint(leaf("a", "int64"), leaf("b", "int32"))

    (finding,) = judged(x64_leak, saved)

    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    "saved",
    [
        checkpoint(leaf("w", shape=(3,)), leaf("lr", "float64", host_scalar=True)),
        checkpoint(leaf("w", shape=(3,)), leaf("data", "float64", (3,), host_array=True)),
        checkpoint(leaf("w", "float64", (3,)), leaf("b", "float64", (3,))),
        checkpoint(leaf("w", shape=(3,)), leaf("n", "int64", (3,)), layout="torch"),
        checkpoint(leaf("w", shape=(3,)), leaf("opt_state/value", "float64", role="optimizer")),
        checkpoint(leaf("n", "int64", (3,)), leaf("rng", "uint32", (2,), role="key")),
    ],
    ids=["Python number", "NumPy array", "all x64", "torch", "optimizer", "key"],
)
def test_neighbours_are_healthy(saved):
    assert not judged(x64_leak, saved)


@pytest.mark.parametrize(("layout", "told"), [("pickle", 0), ("torch", 0), ("brax", 1), ("orbax", 1)])
def test_statistics_that_numpy_keeps_are_no_leak(layout, told):
    """VecNormalize and its like keep means and variances in float64, whatever the policy has."""
    mean = leaf("obs_rms/mean", "float64", (9,), role="statistic")

    assert len(judged(x64_leak, checkpoint(leaf("w", shape=(3,)), mean, layout=layout))) == told
