"""The contract of `sources/`: where a rollout comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxdoctor.errors import UsageError
from jaxdoctor.registry import Folder


@dataclass(frozen=True, kw_only=True)
class Source:
    """One place that a model to replay can come from."""

    accepts: Callable[[str], bool]
    """Whether this argument of `probe` is meant for it, told without opening large files."""

    check: Callable[[str], None]
    """Raises what is already wrong with the argument itself, before a worker is started.

    Raises:
        UsageError: there is no such file or name.
    """

    system: str = "mjx"
    """The name of the file in `replay/systems/` that records and steps what `load` returns."""

    file: bool = False
    """Whether the argument is a path."""

    users_code: bool = False
    """Whether code of the user's runs while it is recorded: where that does not end, the call is wrong."""

    load: Callable[[str], Any]
    """What its system records: for "mjx" the compiled `mujoco.MjModel`, for "function" its names.
    Called in a worker.

    Raises:
        UnreadableError, UnsupportedModelError: with the line that is at fault.
    """


SOURCES = Folder("jaxdoctor.rollouts.sources", Source, noun="source of rollouts")


def source_of(argument: str) -> Source | None:
    """The source that an argument of `probe` is meant for, unchecked; None: there is none."""
    return next((source for source in SOURCES.load_all() if source.accepts(argument)), None)


def find_source(argument: str) -> Source:
    """The source that an argument of `probe` is meant for, after its own check.

    Raises:
        UsageError: none takes it, or there is no such file or name.
    """
    source = source_of(argument)
    if source is not None:
        source.check(argument)
        return source
    raise UsageError(
        f"{argument} is no model file",
        hint="give an MJCF file (.xml), a compiled model (.mjb), --scenario with a packaged model's name, "
        "or a function as module:function",
    )


def load_model(argument: str) -> Any:
    """The compiled `mujoco.MjModel` that an argument of `probe` names. Imports mujoco.

    Raises:
        UsageError, UnreadableError, UnsupportedModelError: see `Source`.
    """
    return find_source(argument).load(argument)
