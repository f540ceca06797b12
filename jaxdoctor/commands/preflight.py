"""`jaxdoctor preflight`: everything that jaxdoctor.yaml names, in one report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jaxdoctor.command import Command
from jaxdoctor.options import (
    ConfiguredFailOnOption,
    FormatOption,
    OutputOption,
    PythonOption,
    QuietOption,
    VerboseOption,
)

if TYPE_CHECKING:
    from jaxdoctor.config.settings import Config


def preflight(
    config: Annotated[
        Path | None,
        typer.Option("--config", help="jaxdoctor.yaml or pyproject.toml; found upwards by default."),
    ] = None,
    level: Annotated[
        int | None,
        typer.Option("--level", min=1, max=3, help="1 machine, scans, updates; 2 also rollouts; 3 closer."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="machine, scan, update, probe, or a subject's name. Repeatable."),
    ] = None,
    changed_only: Annotated[
        bool,
        typer.Option("--changed-only", help="Take earlier results of what is unchanged, and keep new ones."),
    ] = False,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", help="Fail only on findings that are not in this file.")
    ] = None,
    write_baseline: Annotated[
        Path | None, typer.Option("--write-baseline", help="Record today's findings in this file.")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", min=1, metavar="SECONDS", help="For everything together.")
    ] = None,
    init: Annotated[bool, typer.Option("--init", help="Write a commented jaxdoctor.yaml and exit.")] = False,
    formats: FormatOption = None,
    outputs: OutputOption = None,
    fail_on: ConfiguredFailOnOption = None,
    python: PythonOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,  # noqa: ARG001 (its callback sets the log up)
) -> None:
    """Examine everything that jaxdoctor.yaml names, cheap before dear, in one report."""
    if init:
        from jaxdoctor.config.starter import write_starter

        typer.echo(f"wrote {write_starter(config or Path('jaxdoctor.yaml'))}", err=True)
        return
    from jaxdoctor.preflight.baseline import write_baseline as record
    from jaxdoctor.preflight.run import Choice
    from jaxdoctor.preflight.run import preflight as examine
    from jaxdoctor.reports.publish import publish, require_writable
    from jaxdoctor.workers.progress import shown
    from jaxdoctor.workers.stdout import chatter_to_stderr

    chosen = _config(config)
    if python is None and chosen.python is not None:
        from jaxdoctor.workers.interpreter import choose

        choose(str(chosen.folder / chosen.python))
    if write_baseline is not None:
        require_writable(write_baseline)
    choice = Choice(
        level=level,
        only=tuple(only or ()),
        changed_only=changed_only,
        baseline=baseline,
        time_limit=time_limit,
    )
    with chatter_to_stderr(), shown(quiet=quiet) as progress:
        report = examine(chosen, choice, progress)
    code = publish(report, formats or [], outputs or [], fail_on or chosen.fail_on)
    if write_baseline is not None:
        record(report, write_baseline)
        typer.echo(f"wrote {write_baseline}", err=True)
    raise typer.Exit(code)


def _config(path: Path | None) -> Config:
    from jaxdoctor.config.settings import load
    from jaxdoctor.errors import ConfigError

    chosen = load(path)
    if chosen.path is None:
        raise ConfigError(
            "there is no jaxdoctor.yaml here or above, and no [tool.jaxdoctor] in a pyproject.toml",
            hint="write one with `jaxdoctor preflight --init`, or name one with --config",
        )
    return chosen


COMMAND = Command(preflight)
