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

    examples: tuple[str, ...]
    """Calls as a user types them, which stand below the help."""

    @property
    def summary(self) -> str:
        """The first sentence of its help, which stands in the list of commands."""
        return (self.run.__doc__ or "").partition("\n")[0]

    @property
    def epilog(self) -> str:
        """The examples, each on a line of its own."""
        return "\b\nExamples:\n" + "\n".join(f"  {example}" for example in self.examples)


COMMANDS = Folder("jaxdoctor.commands", Command, noun="command")
