"""float16 at its end."""

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.values.half_range import half_range
from tests.builders import checkpoint, judged, leaf


def half(path="params/w", **seen):
    return checkpoint(leaf(path, "float16", (8,), role="parameter", seen=seen))


def test_a_value_near_the_end_is_told():
    (finding,) = judged(half_range, half(largest_magnitude=63000.0, minimum=-63000.0, maximum=1.0))

    assert finding.severity is Severity.WARNING
    assert finding.message == "the largest magnitude is 63000, and float16 ends at 65504"


def test_ordinary_values_are_healthy():
    assert not judged(half_range, half(largest_magnitude=4000.0))


def test_bfloat16_has_the_room():
    saved = checkpoint(leaf("w", "bfloat16", (8,), role="parameter", seen={"largest_magnitude": 65504.0}))

    assert not judged(half_range, saved)


def test_a_mask_of_the_smallest_number_is_a_note():
    (finding,) = judged(half_range, half(largest_magnitude=65504.0, minimum=-65504.0, maximum=0.0))

    assert finding.severity is Severity.NOTE
