"""The command line: commands, what becomes of an error, exit codes."""

from __future__ import annotations

import contextlib
import gc
import io
import signal
import sys
from typing import Annotated, NoReturn

import typer

from jaxdoctor import __version__
from jaxdoctor.command import COMMANDS
from jaxdoctor.config.arguments import PlainCommand, PlainGroup
from jaxdoctor.errors import BUG, INTERRUPTED, TERMINATED, JaxdoctorError, interruption, terminated
from jaxdoctor.facts.text import clean
from jaxdoctor.workers.stdout import full, is_full, open_streams

ISSUES = "https://github.com/jaxdoctor/jaxdoctor/issues"

PAGES = "https://github.com/jaxdoctor/jaxdoctor/tree/main/docs"

HELP = {"help_option_names": ["-h", "--help"]}

GARBAGE = 100_000
"""Objects made before Python looks for circles among them; 700 by default."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"jaxdoctor {__version__}")
        if {"--verbose", "-v"} & set(sys.argv[1:]):
            _print_versions()
        raise typer.Exit


def _print_versions() -> None:
    """What a bug report needs: the platform, the Python, and every package that a report may depend on."""
    import platform  # noqa: PLC0415 (only for a bug report)

    from jaxdoctor.machine.installed import versions_for_a_bug_report  # noqa: PLC0415

    typer.echo(f"{platform.platform()}, {sys.executable}")
    for name, version in versions_for_a_bug_report().items():
        typer.echo(f"{name} {version or 'not installed'}")


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit; with --verbose those of all packages.",
        ),
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", is_eager=True, hidden=True)] = False,
) -> None:
    """Tell before the GPU hours are spent whether a JAX run will break on a given card, and why."""


def build(wanted: str | None = None) -> typer.Typer:
    """The application: one subcommand for each module of `commands/`, or only the one that is wanted."""
    # Drawing help with Rich takes as long as everything else that `--help` does.
    app = typer.Typer(
        name="jaxdoctor",
        cls=PlainGroup,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings=HELP,
        epilog=f"Pages: {PAGES}",
    )
    app.callback()(_root)
    for name in [wanted] if wanted in COMMANDS.names() else COMMANDS.names():
        command = COMMANDS.load(name)
        app.command(
            name=name,
            cls=PlainCommand,
            short_help=command.summary,
            epilog=command.epilog,
            context_settings=HELP,
        )(command.run)
    return app


def main() -> NoReturn:
    """The console script."""
    # Imports make objects that live on: looking through them for circles is a tenth of a small scan.
    gc.set_threshold(GARBAGE, 20, 50)
    open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A file name that is no UTF-8, or a log that is ASCII, must not end a report half way.
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, _terminate)
    try:
        # What the other commands import is a tenth of the time of a small scan.
        build(sys.argv[1] if len(sys.argv) > 1 else None)(prog_name="jaxdoctor")
    except JaxdoctorError as error:
        fail(error)
    except SystemExit as end:
        # Typer turns a Ctrl-C that nobody caught into its own code.
        if end.code in {INTERRUPTED, TERMINATED}:
            typer.echo("terminated" if interruption() == TERMINATED else "interrupted", err=True)
            sys.exit(interruption())
        raise
    except Exception as error:  # noqa: BLE001 (the last line of defence; it says that it is one)
        if is_full(error):
            fail(full(error))
        import traceback  # noqa: PLC0415 (only for a bug)

        traceback.print_exc()
        typer.echo(f"error: this is a bug of jaxdoctor {__version__}", err=True)
        typer.echo(f" help: report the lines above at {ISSUES}", err=True)
        sys.exit(BUG)
    sys.exit(0)


def _terminate(_number: int, _frame: object) -> NoReturn:
    """`timeout`, Slurm and a cancelled CI job send SIGTERM: what is known is reported, as after Ctrl-C."""
    terminated()
    raise KeyboardInterrupt


def fail(error: JaxdoctorError) -> NoReturn:
    """Two lines on stderr: what is wrong, and what to do. Names in them are shown, never obeyed."""
    with contextlib.suppress(OSError):  # nobody reads it, and the exit code still says what happened
        typer.echo(f"error: {clean(error)}\n help: {clean(error.hint)}", err=True)
    sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
