"""`jaxdoctor check-update`: an update function, before it runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from jaxdoctor.command import Command
from jaxdoctor.options import CardsOption, PythonOption, Shared, reporting

if TYPE_CHECKING:
    pass


@reporting
def check_update(
    target: Annotated[
        str | None,
        typer.Argument(
            help="package.module:function or file.py:function, which takes nothing and returns "
            "(update, state, *args) or an optax transformation; or the word optax, for every transform in "
            "it. With --run, the first of the script's own arguments."
        ),
    ] = None,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ARGUMENT]...", help="With --run, the script's other arguments, after --."),
    ] = None,
    script: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="SCRIPT",
            help="A training script to run until its step was seen: --run train.py -- ARGS, or --run -m "
            "package.train -- ARGS.",
        ),
    ] = None,
    call: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --run: the function or the line of the call to judge."),
    ] = None,
    calls: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="With --run: make so many calls of the step and count their compiles."
        ),
    ] = None,
    params: Annotated[
        str | None,
        typer.Option(
            metavar="PARAMS",
            help="Of a transformation: the parameters, as w=float32[128,64],b=bfloat16[64], as a checkpoint, "
            "or as module:object.",
        ),
    ] = None,
    params_dtype: Annotated[
        str | None,
        typer.Option(
            metavar="DTYPES", help="Dtypes to give to the parameters, one after the other: float32,bfloat16."
        ),
    ] = None,
    x64: Annotated[
        str, typer.Option(metavar="off|on|both|as-set", help="Trace with jax_enable_x64 so.")
    ] = "as-set",
    calls_per_second: Annotated[
        float | None,
        typer.Option(
            metavar="RATE", min=0, help="How often the update will be called, to tell when counters end."
        ),
    ] = None,
    time_limit: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, help="Seconds until the worker process is ended.")
    ] = 120.0,
    cards: CardsOption = None,
    python: PythonOption = None,  # noqa: ARG001 (its callback chooses it)
    *,
    shared: Shared,
) -> None:
    """Judge an update function's dtypes, weak types and counters before it runs.

    With --run a training script is run as it is until its step was seen three times; the step that it
    jits, or its outermost loop, is judged. A target's code is executed too, in a process of its own with a
    time limit, and what it builds is only traced: no array of the state is made, and nothing is compiled.
    """
    from jaxdoctor.config.settings import UpdateEntry
    from jaxdoctor.errors import UsageError
    from jaxdoctor.preflight.asks.update import update_wish
    from jaxdoctor.updates.check import check_update as check
    from jaxdoctor.workers.interpreter import chosen, examined, is_another
    from jaxdoctor.workers.progress import shown

    config = shared.configuration()
    if script is None and (target is None or arguments):
        raise UsageError(
            "check-update wants one target or a script",
            hint="name it: check-update --run train.py, or check-update file.py:function",
        )
    entry = UpdateEntry(
        target=target or "",
        run=script,
        arguments=tuple(arguments or ()),
        call=call,
        calls=calls,
        params=params,
        params_dtype=tuple((params_dtype or "").split(",")),
        x64=x64,
        calls_per_second=calls_per_second,
    )
    wish = update_wish(entry, seconds=time_limit)
    where = f" with {chosen()}" if is_another() else ""
    does = ": what it does to files and the network, it does" if script is not None else ""
    if not shared.quiet:
        typer.echo(
            f"executing {wish.named}{where} in a process of its own, at most {time_limit:g} s{does}", err=True
        )
        if not is_another() and (told := examined(os.environ)) is not None:
            typer.echo(told, err=True)
    with shown(quiet=shared.quiet) as progress:
        report = check(wish, progress=progress)
    if cards:
        from jaxdoctor.preflight.cards import for_cards

        report = for_cards(report, cards)
    raise typer.Exit(shared.publish(report, config))


COMMAND = Command(
    check_update,
    examples=(
        "jaxdoctor check-update train.py:make_update --calls-per-second 200",
        "jaxdoctor check-update --run train.py -- --steps 100",
    ),
)
