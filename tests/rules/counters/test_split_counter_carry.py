"""64-bit counts in two halves."""

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.counters.split_counter_carry import split_counter_carry
from tests.builders import checkpoint, judged, leaf, series


def halves(*readings, dtype="uint32"):
    return series(
        *(
            checkpoint(
                leaf("env_steps/hi", "uint32", role="counter", value=high),
                leaf("env_steps/lo", dtype, role="counter", value=low),
                step=step,
            )
            for step, high, low in readings
        )
    )


def test_a_lost_carry_is_told():
    (finding,) = judged(split_counter_carry, halves((1, 0, 4294000000), (2, 0, 32704)))

    assert finding.severity is Severity.ERROR
    assert finding.message == (
        "the lower half of env_steps fell from 4,294,000,000 to 32,704, and the upper half stayed at 0"
    )


def test_a_carry_is_healthy():
    assert not judged(split_counter_carry, halves((1, 0, 4294000000), (2, 1, 32704)))


def test_a_lower_half_above_the_middle_is_healthy():
    assert not judged(split_counter_carry, halves((1, 0, 3000000000), (2, 0, 4000000000)))


def test_a_restart_is_no_lost_carry():
    assert not judged(split_counter_carry, halves((2000, 0, 4294000000), (1000, 0, 1000)))


def test_a_signed_lower_half_is_told():
    (finding,) = judged(split_counter_carry, halves((1, 0, -5), dtype="int32"))

    assert finding.severity is Severity.ERROR
    assert "the lower half is int32" in finding.message
