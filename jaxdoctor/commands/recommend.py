"""`jaxdoctor recommend`: what to set, as a snippet to paste."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jaxdoctor.command import Command
from jaxdoctor.errors import FINDINGS, UnknownNameError
from jaxdoctor.machine.card import HERE
from jaxdoctor.options import CardOption, PythonOption, QuietOption, VerboseOption
from jaxdoctor.prescriptions.writers import WRITERS

if TYPE_CHECKING:
    from jaxdoctor.facts.prescription import Prescription
    from jaxdoctor.workers.progress import Progress


def _known(name: str) -> str:
    if name not in WRITERS:
        raise UnknownNameError("way to emit settings", name, WRITERS)
    return name


def recommend(
    reports: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[REPORT]...",
            help="Reports written with --format json; without one this machine is looked at.",
        ),
    ] = None,
    emit: Annotated[
        str,
        typer.Option(
            "--emit",
            metavar="FORM",
            help=f"How to write it: {', '.join(WRITERS)}.",
            callback=_known,
            autocompletion=lambda incomplete: [name for name in WRITERS if name.startswith(incomplete)],
        ),
    ] = "python",
    diff: Annotated[
        Path | None,
        typer.Option("--diff", metavar="FILE", help="Show what to change in this script; edits nothing."),
    ] = None,
    verify: Annotated[
        str | None,
        typer.Option("--verify", metavar="MODEL", help="Replay the model with and without the settings."),
    ] = None,
    card: CardOption = HERE,
    time_limit: Annotated[
        float, typer.Option("--time-limit", min=1, metavar="SECONDS", help="For --verify.")
    ] = 300.0,
    python: PythonOption = None,  # noqa: ARG001 (its callback chooses it)
    quiet: QuietOption = False,
    verbose: VerboseOption = False,  # noqa: ARG001 (its callback sets the log up)
) -> None:
    """Write what to set, from earlier reports or for this machine; conflicts are said, not resolved."""
    from jaxdoctor.recommend.run import recommend as merge
    from jaxdoctor.recommend.script import difference
    from jaxdoctor.workers.progress import shown
    from jaxdoctor.workers.stdout import chatter_to_stderr, to_stdout

    with chatter_to_stderr(), shown(quiet=quiet) as progress:
        prescription = merge(reports or [], card, progress)
        text = WRITERS[emit](prescription) if diff is None else difference(diff, prescription)
        cured = verify is None or _verified(verify, prescription, card, time_limit, progress)
    to_stdout(lambda out: out.write(text))
    raise typer.Exit(0 if cured else FINDINGS)


def _verified(
    model: str, prescription: Prescription, card: str, time_limit: float, progress: Progress
) -> bool:
    from jaxdoctor.recommend.run import verify

    found = verify(model, prescription, card=card, time_limit=time_limit, progress=progress)
    typer.echo(found.sentence, err=True)
    return found.cured


COMMAND = Command(
    recommend,
    examples=(
        "jaxdoctor recommend report.json --emit shell",
        "jaxdoctor recommend report.json --diff train.py",
    ),
)
