"""Second moments that are zero, denormal or negative."""

from jaxdoctor.facts.finding import Severity
from jaxdoctor.rules.values.dead_second_moment import dead_second_moment
from tests.builders import checkpoint, judged, leaf


def moments(*seen, count=1000):
    leaves = [
        leaf(f"opt_state/0/nu/w{index}", shape=(8,), role="optimizer", seen=one)
        for index, one in enumerate(seen)
    ]
    return checkpoint(leaf("opt_state/0/count", "int32", role="counter", value=count), *leaves)


ZERO = {"minimum": 0.0, "maximum": 0.0, "largest_magnitude": 0.0}
ALIVE = {"minimum": 0.0, "maximum": 1e-3, "largest_magnitude": 1e-3}


def test_zeros_after_many_updates_are_told():
    (finding,) = judged(dead_second_moment, moments(ZERO, ZERO))

    assert finding.severity is Severity.WARNING
    assert finding.message == "2 of 2 second moments are all zero after 1000 updates"


def test_zeros_before_the_first_update_are_normal():
    assert not judged(dead_second_moment, moments(ZERO, ZERO, count=0))


def test_one_frozen_layer_is_normal():
    assert not judged(dead_second_moment, moments(ALIVE, ZERO, ALIVE))


def test_a_negative_mean_of_squares_is_an_error():
    (finding,) = judged(dead_second_moment, moments(ALIVE | {"minimum": -1e-8}))

    assert finding.severity is Severity.ERROR


def test_nothing_but_denormals_is_told():
    tiny = {"minimum": 0.0, "maximum": 1e-40, "largest_magnitude": 1e-40}

    (finding,) = judged(dead_second_moment, moments(tiny))

    assert finding.message == "every value is denormal: the largest is 1e-40"


def test_a_first_moment_may_be_negative():
    first = leaf("opt_state/0/mu/w", shape=(8,), role="optimizer", seen=ALIVE | {"minimum": -1.0})

    assert not judged(dead_second_moment, checkpoint(first))
