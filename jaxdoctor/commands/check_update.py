"""`jaxdoctor check-update`: an update function, before it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from jaxdoctor.command import Command
from jaxdoctor.options import PythonOption, Shared, reporting


@reporting
def check_update(
    target: Annotated[
        str,
        typer.Argument(
            help="package.module:function or file.py:function, which takes nothing and returns "
            "(update, state, *args) or an optax transformation; or the word optax, for every transform in it."
        ),
    ],
    params: Annotated[
        str | None,
        typer.Option(
            help="Of a transformation: the parameters, as w=float32[128,64],b=bfloat16[64], as a checkpoint, "
            "or as module:object."
        ),
    ] = None,
    params_dtype: Annotated[
        str | None,
        typer.Option(help="Dtypes to give to the parameters, one after the other: float32,bfloat16."),
    ] = None,
    x64: Annotated[str, typer.Option(help="Trace with jax_enable_x64 off, on, both, or as-set.")] = "as-set",
    calls_per_second: Annotated[
        float | None,
        typer.Option(min=0, help="How often the update will be called, to tell when counters end."),
    ] = None,
    time_limit: Annotated[
        float, typer.Option(min=1, help="Seconds until the worker process is ended.")
    ] = 120.0,
    python: PythonOption = None,  # noqa: ARG001 (its callback chooses it)
    *,
    shared: Shared,
) -> None:
    """Judge an update function's dtypes, weak types and counters before it runs.

    The target's code is executed, in a process of its own with a time limit. What it builds is only traced:
    no array of the state is made, and nothing is compiled.
    """
    from jaxdoctor.config.settings import UpdateEntry
    from jaxdoctor.preflight.asks.update import update_wish
    from jaxdoctor.updates.check import check_update as check
    from jaxdoctor.workers.interpreter import chosen, is_another
    from jaxdoctor.workers.progress import shown

    config = shared.configuration()
    entry = UpdateEntry(
        target=target,
        params=params,
        params_dtype=tuple((params_dtype or "").split(",")),
        x64=x64,
        calls_per_second=calls_per_second,
    )
    wish = update_wish(entry, seconds=time_limit)
    where = f" with {chosen()}" if is_another() else ""
    if not shared.quiet:
        typer.echo(f"executing {target}{where} in a process of its own, at most {time_limit:g} s", err=True)
    with shown(quiet=shared.quiet) as progress:
        report = check(wish, progress=progress)
    raise typer.Exit(shared.publish(report, config))


COMMAND = Command(check_update)
