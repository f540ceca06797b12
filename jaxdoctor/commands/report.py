"""`jaxdoctor report`: a report that was written as JSON, in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jaxdoctor.command import Command
from jaxdoctor.options import Shared, reporting


@reporting
def report(
    path: Annotated[
        Path, typer.Argument(metavar="REPORT", help="A report that was written with --format json.")
    ],
    *,
    shared: Shared,
) -> None:
    """Write a report again, in another format. Nothing is examined, and the exit code is its own."""
    from dataclasses import replace

    from jaxdoctor.config.selection import with_options
    from jaxdoctor.config.settings import Config
    from jaxdoctor.config.waivers import weighed
    from jaxdoctor.errors import UsageError
    from jaxdoctor.reports.json_reader import read
    from jaxdoctor.reports.publish import NEVER

    if not path.exists():
        raise UsageError(f"{path} does not exist", hint="write one with --format json --output FILE")
    found = read(path)
    fail_on = NEVER if found.fail_on is None else found.fail_on.word
    chosen = with_options(Config(fail_on=fail_on, strict=found.strict), shared.selection)
    # What the configuration of its run set aside stays so; only this command line selects anew.
    kept = replace(
        weighed(found, chosen),
        selected=chosen.select or found.selected,
        allowed=found.allowed,
        configured=found.configured,
        configuration_file=found.configuration_file,
    )
    raise typer.Exit(shared.write(kept, chosen))


COMMAND = Command(
    report,
    examples=(
        "jaxdoctor report r.json --format html --output page.html",
        "jaxdoctor report r.json --select JD3 --format concise",
    ),
)
