"""`jaxdoctor rule`: the pages of the rules."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from jaxdoctor.command import Command
from jaxdoctor.errors import UnknownNameError
from jaxdoctor.options import complete_rule
from jaxdoctor.rules.pages import as_json, by_code, line, page
from jaxdoctor.rules.rule import rules_like
from jaxdoctor.workers.stdout import to_stdout

FORMATS = ("terminal", "json")


def rule(
    word: Annotated[
        str | None,
        typer.Argument(
            metavar="[RULE]",
            help="A code such as JD301 or its beginning, a name such as nonfinite-values, or a word of one.",
            autocompletion=complete_rule,
        ),
    ] = None,
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="terminal or json.")] = "terminal",
) -> None:
    """List the rules, or those that a word is near to, or print the page of one."""
    if form not in FORMATS:
        raise UnknownNameError("format of rules", form, FORMATS)
    rules = by_code() if word is None else rules_like(word)
    if form == "json":
        text = json.dumps(as_json(rules), indent=2) + "\n"
    elif word is None or len(rules) > 1:
        text = "".join(f"{line(known)}\n" for known in rules)
    else:
        text = page(rules[0])
    to_stdout(lambda out: out.write(text))


COMMAND = Command(
    rule,
    examples=(
        "jaxdoctor rule nonfinite-values",
        "jaxdoctor rule JD3",
    ),
)
