"""`jaxdoctor preflight`: everything that jaxdoctor.yaml names, in one report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jaxdoctor.command import Command
from jaxdoctor.errors import FINDINGS
from jaxdoctor.options import PythonOption, Shared, only_one, reporting

if TYPE_CHECKING:
    from jaxdoctor.config.settings import Config


@reporting
def preflight(
    level: Annotated[
        int | None,
        typer.Option(
            "--level",
            metavar="LEVEL",
            min=1,
            max=3,
            help="1 machine, scans, updates; 2 also rollouts; 3 closer.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="SUBJECT", help="machine, scan, update, probe, or a subject's name. Repeatable."
        ),
    ] = None,
    changed_only: Annotated[
        bool,
        typer.Option("--changed-only", help="Take earlier results of what is unchanged, and keep new ones."),
    ] = False,
    baseline: Annotated[
        list[Path] | None,
        typer.Option(
            "--baseline",
            metavar="FILE",
            help="Fail only on findings that are not in this file.",
            callback=only_one,
        ),
    ] = None,
    write_baseline: Annotated[
        Path | None,
        typer.Option("--write-baseline", metavar="FILE", help="Record today's findings in this file."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", min=1, metavar="SECONDS", help="For everything together.")
    ] = None,
    init: Annotated[bool, typer.Option("--init", help="Write a commented jaxdoctor.yaml and exit.")] = False,
    python: PythonOption = None,
    *,
    shared: Shared,
) -> None:
    """Examine everything that jaxdoctor.yaml names, cheap before dear, in one report."""
    if init:
        from jaxdoctor.config.starter import write_starter

        typer.echo(f"wrote {write_starter(shared.selection.config or Path('jaxdoctor.yaml'))}", err=True)
        return
    from jaxdoctor.preflight.baseline import write_baseline as record
    from jaxdoctor.preflight.run import Choice
    from jaxdoctor.preflight.run import preflight as examine
    from jaxdoctor.reports.publish import require_writable
    from jaxdoctor.workers.progress import shown
    from jaxdoctor.workers.stdout import chatter_to_stderr

    chosen = _required(shared.configuration())
    if python is None and chosen.python is not None:
        from jaxdoctor.workers.interpreter import choose

        choose(str(chosen.folder / chosen.python))
    if write_baseline is not None:
        require_writable(write_baseline)
    choice = Choice(
        level=level,
        only=tuple(only or ()),
        changed_only=changed_only,
        baseline=baseline[0] if baseline else None,
        records=write_baseline,
        time_limit=time_limit,
    )
    with chatter_to_stderr(), shown(quiet=shared.quiet) as progress:
        report = examine(chosen, choice, progress)
    code = shared.write(shared.stamped(report), chosen)
    if write_baseline is not None:
        record(report, write_baseline, chosen.path)
        typer.echo(f"wrote {write_baseline}", err=True)
        # What was found is what was to be recorded. What was not judged, or not there, is not in the file.
        code = 0 if code == FINDINGS else code
    raise typer.Exit(code)


def _required(config: Config) -> Config:
    from jaxdoctor.errors import ConfigError

    if config.path is None:
        raise ConfigError(
            "there is no jaxdoctor.yaml here or above, and no [tool.jaxdoctor] in a pyproject.toml",
            hint="write one with `jaxdoctor preflight --init`, or name one with --config",
        )
    return config


COMMAND = Command(
    preflight,
    examples=(
        "jaxdoctor preflight --init",
        "jaxdoctor preflight --level 1 --output report.sarif --output -",
    ),
)
