"""Workers: results, errors, deaths and time limits."""

import os
import signal
import time

import pytest

from jaxdoctor.errors import UsageError, WorkerError
from jaxdoctor.workers.worker import WorkerTimeoutError, run

HERE = "tests.workers.test_worker"


def answer(value, *, progress):
    progress.stage("thinking", 2)
    progress.reached(1)
    print("chatter on stdout")
    return value * 2, os.environ.get("JAX_ENABLE_X64")


def refuse(*, progress):
    raise UsageError("no", hint="yes")


def die(*, progress):
    os.kill(os.getpid(), signal.SIGSEGV)


def crash(*, progress):
    raise ZeroDivisionError("seven by zero")


def hang(*, progress):
    time.sleep(60)


class Heard:
    def __init__(self):
        self.said = []

    def stage(self, title, total=None):
        self.said.append((title, total))

    def reached(self, amount):
        self.said.append(amount)


def test_a_worker_returns_what_its_function_returns():
    """Arguments, environment, result and progress travel; what it prints does not spoil them."""
    heard = Heard()

    result = run(f"{HERE}:answer", 21, environment={"JAX_ENABLE_X64": "1"}, time_limit=30, progress=heard)

    assert result == (42, "1")
    assert heard.said == [("thinking", 2), 1]


def test_an_error_of_ours_travels_with_its_hint():
    with pytest.raises(UsageError, match="no") as caught:
        run(f"{HERE}:refuse", time_limit=30)

    assert caught.value.hint == "yes"


@pytest.mark.parametrize(("function", "cause"), [("die", "SIGSEGV"), ("crash", "exit code 1")])
def test_a_death_is_told_from_a_result(function, cause):
    with pytest.raises(WorkerError, match=cause):
        run(f"{HERE}:{function}", time_limit=30)


def test_the_last_words_of_a_crash_are_the_hint():
    with pytest.raises(WorkerError) as caught:
        run(f"{HERE}:crash", time_limit=30)

    assert "ZeroDivisionError: seven by zero" in caught.value.hint


def test_a_hang_ends_at_the_time_limit():
    started = time.monotonic()

    with pytest.raises(WorkerTimeoutError, match="did not end within 1 s"):
        run(f"{HERE}:hang", time_limit=1)

    assert time.monotonic() - started < 10
