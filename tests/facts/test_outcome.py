"""What sentences call an outcome and its replays."""

import pytest

from jaxdoctor.facts.precision import Precision
from jaxdoctor.reports.wording import needs
from tests.outcomes import outcome, trial


def test_of_a_function_sentences_speak_of_calls():
    """A call has no step and no controls."""
    start = "loss.py:make_args(seed), with a seed of its own for each replay from 0 on"
    called = outcome(16, subject="loss.py:loss", start=start, controls=None)
    stepped = outcome(16, start="qpos0", controls="band-limited random")
    bad = trial(16, first_bad_field="output", first_bad_step=0)

    assert (called.subject_word, called.replay_word, called.stepped) == ("function", "call", "loss")
    assert (stepped.subject_word, stepped.replay_word, stepped.stepped) == ("rollout", "replay", "step")
    assert called.first_bad(bad) == "output"
    assert stepped.first_bad(bad) == "output at step 0"


@pytest.mark.parametrize(("tried", "left_open"), [((13, 12), False), ((13, 10), True), ((13,), True)])
def test_a_search_that_was_ended_leaves_open_whether_fewer_bits_do(tried, left_open):
    trials = [trial(0 if bits >= 13 else 16, Precision(name=str(bits), mantissa_bits=bits)) for bits in tried]

    found = outcome(16, trials=tuple(trials))

    assert found.fewer_untried is left_open
    assert ("requires at most 13" in needs(found)) is left_open


def test_of_what_float32_is_not_enough_for_nothing_is_left_open():
    assert not outcome(16, required=24).fewer_untried
    assert not outcome(0, required=1).fewer_untried
