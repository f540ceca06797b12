"""Counts in floats that no longer grow."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.counters.counter_stalled import counter_stalled
from tests.builders import counts, judged


def test_a_count_that_stays_where_the_type_ends_is_told():
    run = counts("0/count", [17179869184.0, 34359738368.0, 34359738368.0], "float32")

    (finding,) = judged(counter_stalled, run)

    assert finding.severity is Severity.ERROR
    assert finding.message == "0/count stays at 34,359,738,368 = 2^24 * 2048 while the step goes on"


@pytest.mark.parametrize(("dtype", "limit"), [("float32", 2**24), ("float16", 2**11), ("bfloat16", 2**8)])
def test_each_type_has_its_own_end(dtype, limit):
    (finding,) = judged(counter_stalled, counts("count", [float(limit)] * 2, dtype))

    assert finding.severity is Severity.ERROR


def test_one_checkpoint_exactly_at_the_end_is_a_warning():
    """Torch keeps the step of its optimizers in float32."""
    (finding,) = judged(counter_stalled, counts("state/0/step", [16777216.0], "float32", layout="torch"))

    assert finding.severity is Severity.WARNING
    assert finding.message == "state/0/step is exactly 16,777,216 = 2^24, where float32 stops counting"


def test_beyond_the_limit_and_still_growing_is_a_note():
    (finding,) = judged(counter_stalled, counts("count", [20000000.0, 30000000.0], "float32"))

    assert finding.severity is Severity.NOTE


def test_below_the_limit_a_count_may_rest():
    """A frozen normaliser keeps its count, and loses nothing."""
    assert not judged(counter_stalled, counts("count", [5000.0, 5000.0], "float32"))


def test_an_integer_does_not_stall():
    assert not judged(counter_stalled, counts("count", [2**24, 2**24], "int32"))


@pytest.mark.parametrize(("dtype", "value"), [("bfloat16", 256.0), ("bfloat16", 4096.0), ("float16", 2048.0)])
def test_a_count_of_16_bits_at_its_end_is_an_error(dtype, value):
    """No step by one moves it any more."""
    (finding,) = judged(counter_stalled, counts("step", [value], dtype))

    assert finding.severity is Severity.ERROR
    assert f"where {value:.0f} + 1 is {value:.0f} again" in finding.message


def test_a_count_of_16_bits_below_its_end_is_healthy():
    assert not judged(counter_stalled, counts("step", [100.0, 255.0], "bfloat16"))
