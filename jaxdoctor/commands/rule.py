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
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RULE]...",
            help="Codes such as JD301 or their beginnings, names such as nonfinite-values, or words of them.",
            autocompletion=complete_rule,
        ),
    ] = None,
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="terminal or json.")] = "terminal",
) -> None:
    """List the rules, or those that a word is near to, or print the pages of those that are named."""
    if form not in FORMATS:
        raise UnknownNameError("format of rules", form, FORMATS)
    found = [rules_like(word) for word in words or ()]
    rules = list({rule.code: rule for some in found for rule in some}.values()) if found else by_code()
    if form == "json":
        text = json.dumps(as_json(rules), indent=2) + "\n"
    elif found and all(len(some) == 1 for some in found):
        text = "\n".join(page(known) for known in rules)
    else:
        text = "".join(f"{line(known)}\n" for known in rules)
    to_stdout(lambda out: out.write(text))


COMMAND = Command(
    rule,
    examples=(
        "jaxdoctor rule nonfinite-values",
        "jaxdoctor rule JD3",
    ),
)
