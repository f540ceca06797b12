"""`jaxdoctor rule`: the pages of the rules."""

from __future__ import annotations

from typing import Annotated

import typer

from jaxdoctor.command import Command
from jaxdoctor.rule import RULES, find_rule


def rule(
    code_or_name: Annotated[
        str | None, typer.Argument(help="A code such as JD301, or a name such as nonfinite-values.")
    ] = None,
) -> None:
    """List the rules, or print the page of one."""
    if code_or_name is not None:
        chosen = find_rule(code_or_name)
        typer.echo(f"# {chosen.name} ({chosen.code}, {chosen.severity.word})\n\n{chosen.page}")
        return
    for known in sorted(RULES.load_all(), key=lambda known: known.code):
        typer.echo(f"{known.code}  {known.severity.word:8}{known.name:32}{known.summary}")


COMMAND = Command(rule)
