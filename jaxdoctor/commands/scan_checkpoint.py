"""`jaxdoctor scan-checkpoint`: any checkpoint on disk, judged without running anything in it."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from jaxdoctor.command import Command
from jaxdoctor.options import CardsOption, Shared, reporting


@reporting
def scan_checkpoint(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...", help="Files, step folders, run folders or globs; - reads names from stdin."
        ),
    ],
    deep: Annotated[
        bool, typer.Option("--deep", help="Read every value, not a sample of large leaves.")
    ] = False,
    metadata_only: Annotated[bool, typer.Option("--metadata-only", help="Read no values at all.")] = False,
    series: Annotated[
        bool | None,
        typer.Option(
            "--series/--no-series",
            help="Judge all checkpoints as one run, or each alone. Told from their names by default.",
        ),
    ] = None,
    planned_steps: Annotated[
        int | None,
        typer.Option("--planned-steps", metavar="STEPS", min=1, help="The steps that the run is to take."),
    ] = None,
    steps_per_second: Annotated[
        float | None,
        typer.Option("--steps-per-second", metavar="RATE", min=0, help="Its speed, if no series tells it."),
    ] = None,
    expect_dtype: Annotated[
        list[str] | None,
        typer.Option("--expect-dtype", metavar="ROLE=DTYPE", help="As in parameter=float32. Repeatable."),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option("--role", metavar="PATTERN=ROLE", help="As in '*/visits=counter'. Repeatable."),
    ] = None,
    max_memory: Annotated[
        str, typer.Option("--max-memory", metavar="SIZE", help="Held at once at most, as in 512MiB.")
    ] = "512MiB",
    include: Annotated[
        list[str] | None,
        typer.Option("--include", metavar="GLOB", help="Scan only what fits: 'step_*'. Repeatable."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="GLOB", help="Pass over what fits: '*buffer*'. Repeatable."),
    ] = None,
    leaves: Annotated[
        bool, typer.Option("--leaves", help="List every leaf: dtype, shape, role, extremes, zeros.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be read, and as what; read no checkpoint.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Judge each checkpoint of a running job as it appears.")
    ] = False,
    cards: CardsOption = None,
    *,
    shared: Shared,
) -> None:
    """Judge the counters, dtypes and values of saved checkpoints; nothing in them is executed."""
    # Nothing here multiplies matrices, and starting BLAS threads is half of the time of loading NumPy.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from jaxdoctor.checkpoints.discover import expand
    from jaxdoctor.checkpoints.scan import scan
    from jaxdoctor.config.settings import ScanEntry
    from jaxdoctor.preflight.asks.scan import scan_options
    from jaxdoctor.workers.progress import shown

    entry = ScanEntry(
        path=", ".join(paths),
        depth=_depth(deep=deep, metadata_only=metadata_only),
        series=series,
        planned_steps=planned_steps,
        steps_per_second=steps_per_second,
        expect_dtype=tuple(expect_dtype or ()),
        role=tuple(role or ()),
        max_memory=max_memory,
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        leaves=leaves,
    )
    options = scan_options(entry)
    named = expand(paths, sys.stdin)
    config = shared.configuration(inside=named)
    if dry_run:
        from jaxdoctor.checkpoints.chosen import listed
        from jaxdoctor.checkpoints.scan import wanted
        from jaxdoctor.workers.stdout import to_stdout

        lines = [f"{line}\n" for line in listed(wanted(named, options))]
        to_stdout(lambda out: out.writelines(lines))
        raise typer.Exit
    if watch:
        from jaxdoctor.checkpoints.watch import watch as watching

        raise typer.Exit(
            watching(named, options, shared.destinations, shared.judging(config), fail_on=config.fail_on)
        )
    with shown(quiet=shared.quiet) as progress:
        report = scan(named, options, progress)
    if cards:
        from jaxdoctor.preflight.cards import for_cards

        report = for_cards(report, cards)
    raise typer.Exit(shared.publish(report, config))


def _depth(*, deep: bool, metadata_only: bool) -> str:
    from jaxdoctor.errors import UsageError

    if deep and metadata_only:
        raise UsageError(
            "--deep reads every value and --metadata-only none", hint="give one of the two, or neither"
        )
    return "deep" if deep else "metadata-only" if metadata_only else "sample"


COMMAND = Command(
    scan_checkpoint,
    examples=(
        "jaxdoctor scan-checkpoint runs/ant --planned-steps 1000000000",
        "jaxdoctor scan-checkpoint runs/ant --watch",
    ),
)
