"""How a long piece of work says what it is doing. The default says nothing."""

from __future__ import annotations

import contextlib
import re
import sys
import time
from collections.abc import Iterator
from typing import NoReturn, Protocol

from jaxdoctor.errors import JaxdoctorError


class Progress(Protocol):
    """Told of stages, one after the other; a new stage ends the one before."""

    def stage(self, title: str, total: float | None = None) -> None:
        """Begins "compiling the step"; `total` in any unit, None when it cannot be known."""

    def reached(self, amount: float) -> None:
        """So much of the stage's total is done."""

    def hand_over(self, part: object) -> None:
        """A part of the answer, which is known from here on even if the rest never comes."""

    def end_with(self, error: JaxdoctorError) -> NoReturn:
        """Gives up the work with an error, from any thread."""


class Silent:
    """Progress that nobody sees."""

    def stage(self, title: str, total: float | None = None) -> None:
        """Says nothing."""

    def reached(self, amount: float) -> None:
        """Says nothing."""

    def hand_over(self, part: object) -> None:
        """Nobody waits for it."""

    def end_with(self, error: JaxdoctorError) -> NoReturn:
        """There is no process to end but this one."""
        raise error


SILENT = Silent()

PATIENCE_SECONDS = 0.7
"""A bar that lives for less than this only flickers, so it is not drawn before."""


LINES_AFTER_SECONDS = 3.0
"""A command that is done by then writes no line of progress."""

LINES_APART_SECONDS = 1.0
"""Stages that follow one another faster than this are not told one by one."""


class _Shown:
    """Progress for people, who know how long the command may take."""

    def __init__(self, seconds: float | None) -> None:
        self._started = time.monotonic()
        self._seconds = seconds

    def hand_over(self, part: object) -> None:
        """Answers are for the report."""

    def end_with(self, error: JaxdoctorError) -> NoReturn:
        """There is no process to end but this one."""
        raise error

    def _left(self) -> str:
        """What is left of the time limit: "288 s left"."""
        if self._seconds is None:
            return f"{time.monotonic() - self._started:.0f} s"
        return f"{max(self._seconds - (time.monotonic() - self._started), 0):.0f} s left"


class _Lines(_Shown):
    """One line a stage, for a log."""

    def __init__(self, seconds: float | None) -> None:
        super().__init__(seconds)
        self._stage, self._written = "", 0.0

    def stage(self, title: str, total: float | None = None) -> None:
        """Writes the stage that has begun."""
        del total
        now = time.monotonic()
        # Some titles count bytes: another number is no other stage.
        stage = re.sub(r"\d", "", title)
        new = stage != self._stage and now - self._written >= LINES_APART_SECONDS
        if new and now - self._started >= LINES_AFTER_SECONDS:
            self._stage, self._written = stage, now
            print(f"{title} ({self._left()})", file=sys.stderr, flush=True)  # noqa: T201 (stderr)

    def reached(self, amount: float) -> None:
        """A log needs no more than stages."""


class _Bar(_Shown):
    """Progress as one Rich bar on stderr; Rich is imported when the first bar is worth drawing."""

    def __init__(self, seconds: float | None) -> None:
        super().__init__(seconds)
        self._title, self._total, self._amount = "", None, 0.0  # type: tuple[str, float | None, float]
        self._rich: object | None = None

    def stage(self, title: str, total: float | None = None) -> None:
        """Begins a stage on the same bar."""
        self._title, self._total, self._amount = title, total, 0.0
        self._draw()

    def reached(self, amount: float) -> None:
        """Moves the bar."""
        self._amount = amount
        self._draw()

    def _draw(self) -> None:
        if self._rich is None:
            if time.monotonic() - self._started < PATIENCE_SECONDS:
                return
            self._open()
        from rich.progress import Progress as RichProgress

        rich = self._rich
        assert isinstance(rich, RichProgress)
        task = rich.tasks[0].id
        rich.update(task, description=self._title, total=self._total, completed=self._amount)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, Task, TextColumn
        from rich.progress import Progress as RichProgress
        from rich.text import Text

        left = self._left

        class Left(ProgressColumn):
            def render(self, task: Task) -> Text:
                """What is left of the limit, anew every time the bar is drawn."""
                del task
                return Text(left())

        rich = RichProgress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            Left(),
            console=Console(stderr=True),
            transient=True,
        )
        rich.add_task(self._title, total=self._total)
        rich.start()
        self._rich = rich

    def close(self) -> None:
        """Takes the bar away."""
        from rich.progress import Progress as RichProgress

        if isinstance(self._rich, RichProgress):
            self._rich.stop()


@contextlib.contextmanager
def shown(*, quiet: bool = False, seconds: float | None = None) -> Iterator[Progress]:
    """Progress on stderr: a bar on a terminal, a line a stage in the log of what has a limit, else nothing.

    Args:
        quiet: whether nobody wants to see it.
        seconds: the time limit of a command that may well take minutes; None: it takes seconds.
    """
    on_terminal = sys.stderr.isatty()
    if quiet or (seconds is None and not on_terminal):
        yield SILENT
        return
    if not on_terminal:
        yield _Lines(seconds)
        return
    bar = _Bar(seconds)
    try:
        yield bar
    finally:
        if bar._rich is not None:  # noqa: SLF001 (the class is this module's own)
            bar.close()
