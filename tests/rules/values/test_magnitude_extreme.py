"""Values whose square overflows."""

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.values.magnitude_extreme import magnitude_extreme
from tests.builders import checkpoint, judged, leaf


def values(path="params/w", dtype="float32", largest=1.0):
    return checkpoint(leaf(path, dtype, (8,), role="parameter", seen={"largest_magnitude": largest}))


def test_a_value_whose_square_overflows_is_told():
    (finding,) = judged(magnitude_extreme, values(largest=3.2e21))

    assert finding.severity is Severity.WARNING
    assert finding.message == "the largest magnitude is 3.2e+21, whose square float32 cannot hold"


def test_large_values_that_can_be_squared_are_healthy():
    assert not judged(magnitude_extreme, values(largest=1e15))


def test_float64_has_the_room():
    assert not judged(magnitude_extreme, values(dtype="float64", largest=1e30))


def test_a_mask_holds_such_numbers_on_purpose():
    assert not judged(magnitude_extreme, values("params/attn_mask", largest=3.4e38))
