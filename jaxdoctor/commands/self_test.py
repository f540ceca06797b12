"""`jaxdoctor self-test`: replays the packaged scenarios, whose verdicts are known."""

from __future__ import annotations

from typing import Annotated

import typer

from jaxdoctor.command import Command
from jaxdoctor.machine.card import HERE
from jaxdoctor.options import CacheOption, CardOption, PythonOption, Shared, reporting


@reporting
def self_test(
    card: CardOption = HERE,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="SECONDS", help="For all scenarios together.")
    ] = 600.0,
    cache: CacheOption = True,
    python: PythonOption = None,  # noqa: ARG001 (its callback chooses it)
    *,
    shared: Shared,
) -> None:
    """Replay the packaged scenarios, each built for a known verdict: does jaxdoctor work on this machine."""
    from jaxdoctor.probe.ask import Ask
    from jaxdoctor.probe.self_test import self_test as test
    from jaxdoctor.workers.progress import shown
    from jaxdoctor.workers.stdout import chatter_to_stderr

    config = shared.configuration()
    ask = Ask(model="", subject="packaged scenarios", time_limit=time_limit, cache=cache)
    with chatter_to_stderr(), shown(quiet=shared.quiet, seconds=time_limit) as progress:
        report = test(ask, card=card, progress=progress)
    raise typer.Exit(shared.publish(report, config))


COMMAND = Command(
    self_test,
    examples=("jaxdoctor self-test --card rtx-4090", "jaxdoctor self-test --format json --output r.json"),
)
