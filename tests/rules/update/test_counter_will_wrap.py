"""JD506: integers that wrap."""

import pytest

from jaxdoctor.facts.finding import Severity
from jaxdoctor.facts.signature import Fate
from jaxdoctor.rules.update.counter_will_wrap import counter_will_wrap
from tests.signatures import counter, hits, signature


def test_the_call_and_the_time_are_told():
    fact = signature(counters=(counter(),), calls_per_second=1e6 / 4096)

    (finding,) = hits(counter_will_wrap, fact)

    assert finding.severity is Severity.ERROR
    assert finding.message == (
        "env_steps (int32) grows by 4,096 a call and wraps at call 524,288, after 36 minutes"
    )


@pytest.mark.parametrize(
    ("calls_per_second", "severity"),
    [
        (None, None),
        (2**31 / (29 * 86400), Severity.ERROR),
        (2**31 / (31 * 86400), Severity.WARNING),
        (10, None),
    ],
)
def test_a_step_count_is_judged_by_the_rate(calls_per_second, severity):
    """An int32 that grows by one holds two thousand million calls: the rate tells if a run gets there."""
    slow = counter(increment=1, calls=2**31)

    found = hits(counter_will_wrap, signature(counters=(slow,), calls_per_second=calls_per_second))

    assert [finding.severity for finding in found] == ([severity] if severity else [])


def test_without_a_rate_a_limit_within_a_long_run_is_a_warning():
    (finding,) = hits(counter_will_wrap, signature(counters=(counter(),)))

    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize("fate", [Fate.SATURATES, Fate.RESETS, Fate.UNKNOWN])
def test_counters_that_do_not_wrap_are_left_alone(fate):
    assert not hits(counter_will_wrap, signature(counters=(counter(fate=fate),), calls_per_second=1e9))
