"""What sentences call an outcome and its replays."""

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
