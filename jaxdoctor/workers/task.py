"""A function that runs in a worker, with the types of what goes in and of what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Call(Generic[R]):
    """A task with its arguments, ready for `jaxdoctor.workers.worker.run`."""

    task: Task[Any, R]
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Task(Generic[P, R]):
    """A function `function(*arguments, progress: Progress) -> R`, called in a process of its own.

    It stands beside the plan that it takes, and only the worker imports what it names:
    `SWEEP: Task[[str, SweepPlan], Sweep] = Task("jaxdoctor.replay.sweep:sweep")`. A test compares the
    annotation with the function's own.

    Arguments and answers are plain values, dataclasses and enums of ours, and bytes: the worker may run in
    another Python, with another NumPy.
    """

    function: str
    """"package.module:function"."""

    ours: bool = False
    """Whether it runs in the interpreter that runs jaxdoctor, whatever `--python` says: it needs no JAX."""

    users_code: bool = False
    """Whether it imports modules of the user's, which may stand in the current folder."""

    def __call__(self, *arguments: P.args, **_: P.kwargs) -> Call[R]:
        """The task with its arguments."""
        return Call(self, arguments)
