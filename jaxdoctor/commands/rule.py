"""`jaxdoctor rule`: the pages of the rules."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from jaxdoctor.command import Command
from jaxdoctor.errors import UnknownNameError
from jaxdoctor.options import complete_rule
from jaxdoctor.rules.pages import as_json, by_code, line, page
from jaxdoctor.rules.rule import find_rule
from jaxdoctor.workers.stdout import to_stdout

FORMATS = ("terminal", "json")


def rule(
    code_or_name: Annotated[
        str | None,
        typer.Argument(
            help="A code such as JD301, or a name such as nonfinite-values.", autocompletion=complete_rule
        ),
    ] = None,
    form: Annotated[str, typer.Option("--format", help="terminal or json.")] = "terminal",
) -> None:
    """List the rules, or print the page of one."""
    if form not in FORMATS:
        raise UnknownNameError("format of rules", form, FORMATS)
    rules = by_code() if code_or_name is None else [find_rule(code_or_name)]
    if form == "json":
        text = json.dumps(as_json(rules), indent=2) + "\n"
    elif code_or_name is None:
        text = "".join(f"{line(known)}\n" for known in rules)
    else:
        text = page(rules[0])
    to_stdout(lambda out: out.write(text))


COMMAND = Command(rule)
