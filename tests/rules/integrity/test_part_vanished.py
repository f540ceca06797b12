"""Parts that a save lacks and the save before it has."""

import pytest

from jaxdoctor.facts.fault import Fault
from jaxdoctor.rules.integrity.part_vanished import part_vanished
from tests.builders import checkpoint, judged, leaf, series


def run(*parts, shapes=None):
    """A save for each tuple of parts, with one leaf."""
    shapes = shapes or [(4,)] * len(parts)
    return series(
        *(
            checkpoint(leaf("w", shape=shape), step=step, parts=tuple(names))
            for step, (names, shape) in enumerate(zip(parts, shapes, strict=True), 1)
        )
    )


@pytest.mark.parametrize("parts", [("ab", "a"), ("ab", "ab", "a"), ("ab", "a", "ab"), ("ab", "b", "b")])
def test_a_part_that_every_save_before_had(parts):
    (finding,) = judged(part_vanished, run(*parts))

    assert finding.message.startswith(("b is missing; run/", "a is missing; run/"))
    assert finding.location.step == 3 - (parts != ("ab", "ab", "a"))


@pytest.mark.parametrize(
    "parts", [("ab", "ab"), ("a", "ab"), ("ab", "a", "ab", "a"), ("ab", "cd"), ("ab", "")]
)
def test_what_is_no_loss(parts):
    """The same parts, new ones, one that is saved now and then, another layout, and none that is known."""
    assert not judged(part_vanished, run(*parts))


def test_fewer_ranks_with_larger_shards_are_a_choice():
    """Half the ranks hold twice the rows each."""
    assert not judged(part_vanished, run("ab", "a", shapes=[(4,), (8,)]))


def test_a_part_that_its_reader_misses_is_told_once():
    fault = Fault(kind="missing-file", message="rank_1 is missing, of 2 ranks")
    before = checkpoint(leaf("w", shape=(4,)), step=1, parts=("rank_0", "rank_1"))
    after = checkpoint(leaf("w", shape=(4,)), step=2, parts=("rank_0",), faults=(fault,))

    assert not judged(part_vanished, series(before, after))
