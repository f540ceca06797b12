"""Data iterators that stay where they are."""

from jaxdoctor.rules.integrity.data_iterator_stuck import data_iterator_stuck
from tests.builders import checkpoint, judged, series


def run(*states):
    return series(
        *(
            checkpoint(step=100 * number, metadata={"iterators": {"process_0-of-1": state}} if state else {})
            for number, state in enumerate(states, 1)
        )
    )


def test_the_same_state_at_several_steps_is_one_finding():
    (finding,) = judged(data_iterator_stuck, run("a", "b", "b", "b"))

    assert finding.message == "the data iterator is the same at steps 200, 300 and 400"


def test_a_state_that_goes_on_is_healthy():
    """So is a run without one, and a step that was saved twice."""
    assert not judged(data_iterator_stuck, run("a", "b", "c"))
    assert not judged(data_iterator_stuck, run(None, None))
    twice = [checkpoint(step=5, path=path, metadata={"iterators": {"x": "a"}}) for path in ("p", "q")]
    assert not judged(data_iterator_stuck, series(*twice))
