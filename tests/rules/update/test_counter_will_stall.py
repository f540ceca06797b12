"""JD507: counts that stand still."""

from jaxdoctor.facts.signature import Fate
from jaxdoctor.rules.update.counter_will_stall import counter_will_stall
from tests.signatures import counter, hits, signature


def test_a_float_count_tells_when_it_is_rounded_and_when_it_stops():
    stalls = counter(
        leaf="count",
        dtype="float32",
        fate=Fate.STALLS,
        increment=3.0,
        limit=2**26,
        calls=20_971_521,
        inexact_after=5_592_406,
    )

    (finding,) = hits(counter_will_stall, signature(counters=(stalls,)))

    assert finding.message == (
        "count (float32) grows by 3 a call, is rounded from call 5,592,407 on and stands still at "
        "67,108,864, call 20,971,521"
    )


def test_a_saturating_count_is_told_where_the_rate_reaches_it():
    """Optax's counts stop at 2,147,483,647: at a thousand updates a second after 25 days."""
    saturates = counter(fate=Fate.SATURATES, increment=1, calls=2**31 - 1)

    (finding,) = hits(counter_will_stall, signature(counters=(saturates,), calls_per_second=1000))

    assert finding.message.endswith("stands still at 2,147,483,647, call 2,147,483,647, after 25 days")


def test_an_optax_count_without_a_rate_is_healthy():
    saturates = counter(fate=Fate.SATURATES, increment=1, calls=2**31 - 1)

    assert not hits(counter_will_stall, signature(counters=(saturates, counter())))
