"""Options that several commands share, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

FormatOption = Annotated[
    list[str] | None,
    typer.Option(
        "--format", help="How to write the report. May be given several times, each with its --output."
    ),
]
OutputOption = Annotated[
    list[Path] | None,
    typer.Option("--output", "-o", help="Write to this file instead of stdout."),
]
FailOnOption = Annotated[
    str,
    typer.Option("--fail-on", help="Exit with 1 from this severity on: error, warning, note or never."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Log what is being done to stderr.")]
