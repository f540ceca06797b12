"""A compile that goes on and on."""

import time

import pytest

from jaxdoctor.replay.compile_limit import CompileLimitError, compiling_within


class Ended:
    """Progress that remembers with which error it was ended."""

    def __init__(self):
        self.error = None

    def end_with(self, error):
        self.error = error


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))


def test_cpu_time_ends_it():
    ended = Ended()
    with compiling_within(0.1, ended):
        while ended.error is None:
            burn(0.05)

    assert isinstance(ended.error, CompileLimitError)
    assert "0 s of CPU time" in str(ended.error)


@pytest.mark.parametrize("limit", [None, 0.5])
def test_waiting_does_not(limit):
    """A machine that is busy with something else is no reason."""
    ended = Ended()
    with compiling_within(limit, ended):
        time.sleep(0.7)

    assert ended.error is None
