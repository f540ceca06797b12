"""Workers: results, parts, errors, deaths and deadlines."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from jaxdoctor.errors import MissingPackageError, UsageError, WorkerError
from jaxdoctor.workers.task import Task
from jaxdoctor.workers.worker import WorkerTimeoutError, run


def task(function):
    return Task(f"tests.workers.test_worker:{function}", users_code=True)


def soon(seconds=30.0):
    return time.monotonic() + seconds


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
    progress.hand_over("the first part")
    progress.hand_over("the second part")
    time.sleep(60)


def give_up_from_a_thread(*, progress):
    threading.Timer(0.1, progress.end_with, (UsageError("late", hint="sooner"),)).start()
    time.sleep(60)


def lack_a_package(*, progress):
    raise ModuleNotFoundError("No module named 'mujoco.mjx'", name="mujoco.mjx")


def read_stdin(*, progress):
    return sys.stdin.read()


def return_numbers(*, progress):
    return np.float32(0.5), np.int64(7), pathlib.Path("here"), {1, 2}


def return_an_array(*, progress):
    return np.zeros(3)


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

    result = run(task("answer")(21), environment={"JAX_ENABLE_X64": "1"}, deadline=soon(), progress=heard)

    assert result == (42, "1")
    assert heard.said == [("thinking", 2), 1]


def test_an_error_of_ours_travels_with_its_hint():
    with pytest.raises(UsageError, match="no") as caught:
        run(task("refuse")(), deadline=soon())

    assert caught.value.hint == "yes"


@pytest.mark.parametrize(("function", "cause"), [("die", "SIGSEGV"), ("crash", "exit code 1")])
def test_a_death_is_no_result(function, cause):
    with pytest.raises(WorkerError, match=cause):
        run(task(function)(), deadline=soon())


def test_the_last_words_of_a_crash_are_the_hint():
    with pytest.raises(WorkerError) as caught:
        run(task("crash")(), deadline=soon())

    assert "ZeroDivisionError: seven by zero" in caught.value.hint


def test_parts_that_were_handed_over_outlive_a_worker_that_hangs():
    """It is ended at its deadline, and what it had sent is known."""
    parts = []

    with pytest.raises(WorkerTimeoutError, match="timed out after"):
        run(task("hang")(), deadline=soon(4), received=parts.append)

    assert parts == ["the first part", "the second part"]


def test_nothing_that_waits_for_a_worker_keeps_python_from_exiting():
    """A Ctrl-C may come before any of it can be ended."""
    before, begun = set(threading.enumerate()), []

    def look(_):
        begun.extend(one for one in threading.enumerate() if one not in before)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(task("hang")(), deadline=soon(), received=look)

    assert begun
    assert all(one.daemon for one in begun)


def test_a_worker_gives_up_from_any_thread():
    """A compiler that does not return cannot raise."""
    with pytest.raises(UsageError, match="late"):
        run(task("give_up_from_a_thread")(), deadline=soon())


def test_a_missing_package_is_named_with_the_way_out():
    with pytest.raises(MissingPackageError, match="mujoco-mjx is not installed") as caught:
        run(task("lack_a_package")(), deadline=soon())

    assert "--python" in caught.value.hint
    assert caught.value.exit_code == 2


def test_users_code_finds_an_empty_stdin():
    """A script that asks a question gets an end of file, and the messages stay whole."""
    assert run(task("read_stdin")(), deadline=soon()) == ""


def test_numbers_of_a_library_arrive_as_pythons_own():
    """The other Python may have another NumPy."""
    half, seven, path, both = run(task("return_numbers")(), deadline=soon())

    assert (type(half), half, type(seven), seven) == (float, 0.5, int, 7)
    assert path == pathlib.Path("here")
    assert both == {1, 2}


def test_an_array_does_not_cross():
    with pytest.raises(WorkerError) as caught:
        run(task("return_an_array")(), deadline=soon())

    assert "cannot be sent" in caught.value.hint


ORPHAN = """
import time
from jaxdoctor.workers.task import Task
from jaxdoctor.workers.worker import run
hang = Task("tests.workers.test_worker:say_who_and_hang", users_code=True)
run(hang({file!r}), deadline=time.monotonic() + 60)
"""


def say_who_and_hang(file, *, progress):
    pathlib.Path(file).write_text(str(os.getpid()))
    time.sleep(60)


def test_a_worker_ends_with_a_parent_that_is_killed(tmp_path):
    """Nothing computes on for nobody."""
    file = tmp_path / "pid"
    parent = subprocess.Popen([sys.executable, "-c", ORPHAN.format(file=str(file))])
    latest = soon()
    while not (file.exists() and file.read_text()) and time.monotonic() < latest:
        time.sleep(0.05)
    worker = int(file.read_text())

    parent.kill()
    parent.wait()

    assert ends(worker)


def ends(number):
    latest = soon()
    while time.monotonic() < latest:
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return True
        if "Z" in pathlib.Path(f"/proc/{number}/stat").read_text().rpartition(")")[2][:3]:
            return True
        time.sleep(0.05)
    return False
