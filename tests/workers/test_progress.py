"""What a log and a terminal see of a long piece of work."""

import io

import pytest

from jaxdoctor.workers import progress
from jaxdoctor.workers.progress import SILENT, shown


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_log_has_one_line_a_stage(monkeypatch, clock):
    """None in the first seconds, none for another number in the same title, and each with what is left."""
    monkeypatch.setattr(progress.sys, "stderr", io.StringIO())
    with shown(seconds=300) as stated:
        for seconds, title in [
            (0, "1 of 5: reading the model"),
            (4, "3 of 5: compiling the step"),
            (20, "reading a: 1 of 9 MiB"),
            (25, "reading a: 2 of 9 MiB"),
            (40, "4 of 5: replaying"),
            (40.5, "too soon after the line before"),
        ]:
            clock[0] = 100.0 + seconds
            stated.stage(title, 10)
            stated.reached(5)

        lines = progress.sys.stderr.getvalue().splitlines()

    assert lines == [
        "3 of 5: compiling the step (296 s left)",
        "reading a: 1 of 9 MiB (280 s left)",
        "4 of 5: replaying (260 s left)",
    ]


@pytest.mark.parametrize("asked", [{"quiet": True, "seconds": 300}, {}])
def test_a_quiet_command_and_a_quick_one_leave_nothing_in_a_log(monkeypatch, asked):
    monkeypatch.setattr(progress.sys, "stderr", io.StringIO())
    with shown(**asked) as stated:
        assert stated is SILENT


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_has_one_bar_with_what_is_left(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(progress.sys, "stderr", Terminal())
    with shown(seconds=300) as stated:
        stated.stage("compiling the step", 5)
        stated.reached(2)
        stated._rich.refresh()

        drawn = progress.sys.stderr.getvalue()

    assert "compiling the step" in drawn
    assert "s left" in drawn
