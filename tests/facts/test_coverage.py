"""How much was read."""

from jaxdoctor.facts.coverage import coverage_of, summed
from tests.builders import checkpoint, leaf


def test_leaves_are_counted_by_how_much_of_them_was_read():
    saved = checkpoint(
        leaf("whole", shape=(10,), seen={}),
        leaf("sampled", shape=(1000,), seen={"seen": 10}),
        leaf("unread", shape=(10,)),
        leaf("empty", shape=(0,)),
        leaf("step", "int32", value=3),
        leaf("text", "unknown", (4,), unsupported="its elements are <U2"),
    )

    covered = coverage_of([saved])

    assert (covered.leaves, covered.sampled, covered.unread) == (6, 1, 2)
    assert (covered.value_bytes, covered.seen_bytes) == (4 * (10 + 1000 + 10 + 1), 4 * (10 + 10 + 1))
    assert not covered.whole


def test_nothing_to_read_was_read():
    assert coverage_of([]).share == 1.0
    assert summed([None, None]) is None


def test_several_are_one():
    one = coverage_of([checkpoint(leaf("sampled", shape=(1000,), seen={"seen": 10}))])

    assert summed([one, None, one]).sampled == 2
