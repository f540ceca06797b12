"""The contract of a subcommand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxdoctor.registry import Folder


@dataclass(frozen=True)
class Command:
    """One subcommand. Its module's name, with dashes, is what the user types."""

    run: Callable[..., None]
    """Typer reads its parameters as options and its docstring as help."""


COMMANDS = Folder("jaxdoctor.commands", Command, noun="command")
