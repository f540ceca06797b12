"""How a long piece of work says what it is doing. The default says nothing."""

from __future__ import annotations

import contextlib
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


class _Bar:
    """Progress as one Rich bar on stderr; Rich is imported when the first bar is worth drawing."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._title, self._total, self._amount = "", None, 0.0  # type: tuple[str, float | None, float]
        self._rich: object | None = None
        self._task: object | None = None

    def stage(self, title: str, total: float | None = None) -> None:
        self._title, self._total, self._amount = title, total, 0.0
        self._draw(restart=True)

    def reached(self, amount: float) -> None:
        self._amount = amount
        self._draw()

    def hand_over(self, part: object) -> None:
        """A bar shows no answers."""

    def end_with(self, error: JaxdoctorError) -> NoReturn:
        """There is no process to end but this one."""
        raise error

    def _draw(self, *, restart: bool = False) -> None:
        if self._rich is None:
            if time.monotonic() - self._started < PATIENCE_SECONDS:
                return
            self._open()
            restart = True
        from rich.progress import Progress as RichProgress

        rich = self._rich
        assert isinstance(rich, RichProgress)
        task = rich.tasks[0].id
        if restart:
            rich.reset(task, total=self._total, completed=int(self._amount), description=self._title)
        else:
            rich.update(task, completed=self._amount)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as RichProgress

        rich = RichProgress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        rich.add_task(self._title, total=self._total)
        rich.start()
        self._rich = rich

    def close(self) -> None:
        from rich.progress import Progress as RichProgress

        if isinstance(self._rich, RichProgress):
            self._rich.stop()


@contextlib.contextmanager
def shown(*, quiet: bool = False) -> Iterator[Progress]:
    """Progress on stderr while it is a terminal, and none otherwise or when `quiet`."""
    if quiet or not sys.stderr.isatty():
        yield SILENT
        return
    bar = _Bar()
    try:
        yield bar
    finally:
        if bar._rich is not None:  # noqa: SLF001 (the class is this module's own)
            bar.close()
