"""`jaxdoctor replay`: a recorded failure once more, at any precision and in three engines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jaxdoctor.command import Command
from jaxdoctor.options import CacheOption, PythonOption, Shared, reporting


@reporting
def replay(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A file of probe --bundle or of a guard.")],
    precision: Annotated[
        list[str] | None,
        typer.Option(
            "--precision",
            metavar="PRECISION",
            help="Emulated: tf32, bf16, f32, a number of mantissa bits, or all-tf32. Repeatable. By default "
            "as it failed.",
        ),
    ] = None,
    x64: Annotated[bool, typer.Option("--x64", help="Also in float64.")] = False,
    engine: Annotated[
        list[str] | None,
        typer.Option(
            "--engine",
            metavar="ENGINE",
            help="mjx as this machine computes, c for MuJoCo itself in float64, or warp. Repeatable.",
        ),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(
            "--of",
            metavar="NAME",
            help="What was recorded, where the bundle holds no model: an environment, or code of yours.",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="CHECKPOINT",
            help="The policy that drove a recorded environment, where it is not in the bundle.",
        ),
    ] = None,
    network: Annotated[
        str | None, typer.Option("--network", metavar="FUNCTION", help="Its network, as for probe.")
    ] = None,
    to_xml: Annotated[
        Path | None,
        typer.Option(
            "--to-xml", metavar="FOLDER", help="Also write what MuJoCo's viewer opens at the failing state."
        ),
    ] = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="SECONDS", help="For all replays.")
    ] = 300.0,
    cache: CacheOption = True,
    python: PythonOption = None,  # noqa: ARG001 (its callback chooses it)
    *,
    shared: Shared,
) -> None:
    """Replay a recorded failure: does it fail here too, at which precision, in which engine."""
    from jaxdoctor.preflight.asks.probe import precision_asked
    from jaxdoctor.probe.bundle_replay import ReplayAsk, replay_bundle
    from jaxdoctor.workers.progress import shown
    from jaxdoctor.workers.stdout import chatter_to_stderr

    ask = ReplayAsk(
        bundle=str(bundle),
        precisions=tuple(precision_asked(one) for one in precision or ()),
        x64=x64,
        engines=tuple(engine or ()),
        of=of,
        policy=policy,
        network=network,
        to_xml=None if to_xml is None else str(to_xml),
        time_limit=time_limit,
        cache=cache,
    )
    config = shared.configuration()
    with chatter_to_stderr(), shown(quiet=shared.quiet, seconds=time_limit) as progress:
        report = replay_bundle(ask, progress=progress)
    raise typer.Exit(shared.publish(report, config))


COMMAND = Command(
    replay,
    examples=(
        "jaxdoctor replay failure.zip",
        "jaxdoctor replay failure.zip --precision f32 --x64 --engine c",
        "jaxdoctor replay failure.zip --to-xml failure",
    ),
)
