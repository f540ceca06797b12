"""`jaxdoctor probe`: from a model to a verdict, a margin in bits and a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jaxdoctor.command import Command
from jaxdoctor.errors import UnknownNameError
from jaxdoctor.machine.card import HERE
from jaxdoctor.models.scenario import SCENARIOS
from jaxdoctor.options import CacheOption, CardOption, PythonOption, Shared, complete_judged, reporting
from jaxdoctor.prescriptions.writers import WRITERS
from jaxdoctor.probe.ask import ENGINES, MJX

if TYPE_CHECKING:
    from jaxdoctor.config.settings import Config
    from jaxdoctor.facts.report import Report
    from jaxdoctor.probe.ask import Ask


def _known_emit(name: str | None) -> str | None:
    if name is not None and name not in WRITERS:
        raise UnknownNameError("way to emit settings", name, WRITERS)
    return name


def _known_scenario(name: str | None) -> str | None:
    if name is not None and name not in SCENARIOS.names():
        raise UnknownNameError("scenario", name, SCENARIOS.names())
    return name


def _complete(incomplete: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


@reporting
def probe(
    model: Annotated[
        str | None,
        typer.Argument(
            help="An MJCF, URDF or MJB file, or a function: module:fn or file.py:fn. Without one: this "
            "machine, and a packaged model."
        ),
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            "--scenario",
            metavar="NAME",
            help=f"A packaged model instead of a file: {', '.join(SCENARIOS.names())}.",
            callback=_known_scenario,
            autocompletion=lambda incomplete: _complete(incomplete, SCENARIOS.names()),
        ),
    ] = None,
    controls: Annotated[
        Path | None,
        typer.Option(
            "--controls",
            metavar="FILE",
            help="Controls to replay: .npy or .csv (steps x nu), or .npz with ctrl and perhaps qpos, qvel. "
            "record:FILE.npz keeps what is played.",
        ),
    ] = None,
    args: Annotated[
        str | None,
        typer.Option(
            "--args",
            metavar="FUNCTION",
            help="For a function: module:make_args, which returns the arguments of a call; with a parameter, "
            "it is called with a seed for each replay.",
        ),
    ] = None,
    check: Annotated[
        str | None,
        typer.Option(
            "--check",
            metavar="FUNCTION",
            help="For a function: module:is_bad, true of an output that is as bad as one that is not finite.",
        ),
    ] = None,
    env: Annotated[
        str | None,
        typer.Option(
            "--env",
            metavar="ENVIRONMENT",
            help="Instead of a model: brax:ant, playground:CartpoleBalance, or a function that makes an "
            "environment: train.py:make_env.",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="CHECKPOINT",
            help="For an environment: a policy's checkpoint, or module:policy. Without one, a random policy.",
        ),
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(
            "--network",
            metavar="FUNCTION",
            help="For a checkpoint that does not say what network it is of: module:function, which "
            "makes it, or brax:ppo, brax:sac.",
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            metavar="N",
            help="Steps of each replay; by default one second of simulated time, or 500.",
        ),
    ] = None,
    replays: Annotated[
        int | None,
        typer.Option(
            "--replays", metavar="N", help="Replays at each precision; as many as make it clear by default."
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option("--batch", metavar="N", help="Replays in one program: best the batch of the real run."),
    ] = None,
    training_batch: Annotated[
        int | None,
        typer.Option(
            "--training-batch",
            metavar="N",
            help="Environments that your run steps at once: says whether their memory fits the card.",
        ),
    ] = None,
    card: CardOption = HERE,
    level: Annotated[
        int,
        typer.Option(
            "--level", metavar="1|2|3", help="1 the machine, 2 also a rollout, 3 also a batch of one."
        ),
    ] = 2,
    expect_card: Annotated[
        str | None,
        typer.Option(
            "--expect-card",
            metavar="CARD",
            help="With --level 1: fail unless JAX computes on this card, with the bits it delivers.",
            autocompletion=complete_judged,
        ),
    ] = None,
    expect_count: Annotated[
        int | None,
        typer.Option(
            "--expect-count", metavar="N", min=1, help="With --level 1: fail unless there are so many."
        ),
    ] = None,
    precision: Annotated[
        list[str] | None,
        typer.Option(
            "--precision",
            metavar="PRECISION",
            help="A precision to replay at besides the usual ones: bf16, a number of mantissa bits, or "
            "all-tf32 to round every product. Repeatable.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Of start states and random controls.")
    ] = 0,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="SECONDS", help="For the whole probe.")
    ] = 300.0,
    attribute: Annotated[
        bool,
        typer.Option(
            "--attribute", help="Also find the smallest set of products that needs the bits; level 3 does."
        ),
    ] = False,
    attribute_error: Annotated[
        float | None,
        typer.Option(
            "--attribute-error",
            metavar="BOUND",
            help="Also find the smallest set of products that a one-step error of at most this needs: "
            "1e-5 of the state.",
        ),
    ] = None,
    price: Annotated[
        bool,
        typer.Option(
            "--price",
            help="Also time a step at each setting on this device; by default only where it is judged.",
        ),
    ] = False,
    cache: CacheOption = True,
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            metavar="mjx|warp",
            help="mjx, or warp to replay in MuJoCo Warp too, which Playground runs by default.",
            autocompletion=lambda incomplete: _complete(incomplete, list(ENGINES)),
        ),
    ] = MJX,
    bundle: Annotated[
        Path | None,
        typer.Option(
            "--bundle",
            metavar="FILE",
            help="Write the first failing replay into a file, with the model and the 64 steps before, for "
            "jaxdoctor replay.",
        ),
    ] = None,
    bundle_policy: Annotated[
        bool, typer.Option("--bundle-policy", help="Let the parameters of a policy go into it too.")
    ] = False,
    cures: Annotated[
        bool,
        typer.Option(
            "--cures/--no-cures",
            help="Try changes to a model that fails, in what is left of the time limit.",
        ),
    ] = True,
    emit: Annotated[
        str | None,
        typer.Option(
            "--emit",
            metavar="FORM",
            help=f"Print only what to set, as {', '.join(WRITERS)}.",
            callback=_known_emit,
            autocompletion=lambda incomplete: _complete(incomplete, list(WRITERS)),
        ),
    ] = None,
    python: PythonOption = None,  # noqa: ARG001 (its callback chooses it)
    *,
    shared: Shared,
) -> None:
    """Replay a model at every precision: will it break on that card, by how many bits, what to set."""
    from jaxdoctor.config.settings import ProbeEntry
    from jaxdoctor.preflight.asks.probe import probe_ask
    from jaxdoctor.rollouts.source import source_of
    from jaxdoctor.rollouts.sources.function import is_function

    if expect_card is not None or expect_count is not None:
        _insist_on_level_one(level, model or env, scenario)
        node = _node(expect_card, expect_count, time_limit, quiet=shared.quiet)
        raise typer.Exit(shared.publish(node, shared.configuration()))
    function = model if model is not None and is_function(model) and source_of(model) is None else None
    entry = ProbeEntry(
        model=None if function is not None else model,
        function=function,
        args=args,
        check=check,
        env=env,
        policy=policy,
        network=network,
        scenario=scenario,
        controls=None if controls is None else str(controls),
        cards=(card,),
        level=level,
        steps=steps,
        replays=replays,
        batch=batch,
        training_batch=training_batch,
        seed=seed,
        precision=tuple(precision or ()),
        cache=cache,
        cures=cures,
        engine=engine,
        bundle=None if bundle is None else str(bundle),
        bundle_policy=bundle_policy,
        price=price,
        attribute=attribute,
        attribute_error=attribute_error,
    )
    ask = probe_ask(entry, seconds=time_limit)
    config = shared.configuration()
    report = _run(ask, card, quiet=shared.quiet)
    raise typer.Exit(_publish(report, emit, shared, config))


def _insist_on_level_one(level: int, model: str | None, scenario: str | None) -> None:
    from jaxdoctor.errors import UsageError

    if level != 1 or model is not None or scenario is not None:
        raise UsageError(
            "--expect-card and --expect-count test the node alone", hint="give --level 1, and no model"
        )


def _node(card: str | None, count: int | None, time_limit: float, *, quiet: bool) -> Report:
    from jaxdoctor.machine.node import Expectation
    from jaxdoctor.probe.node import check_node
    from jaxdoctor.workers.progress import shown
    from jaxdoctor.workers.stdout import chatter_to_stderr

    with chatter_to_stderr(), shown(quiet=quiet) as progress:
        return check_node(Expectation(card=card, count=count), time_limit=time_limit, progress=progress)


def _run(ask: Ask, card: str, *, quiet: bool) -> Report:
    from jaxdoctor.probe.run import probe as probing
    from jaxdoctor.probe.self_test import first_look
    from jaxdoctor.workers.progress import shown
    from jaxdoctor.workers.stdout import chatter_to_stderr

    with chatter_to_stderr(), shown(quiet=quiet, seconds=ask.time_limit) as progress:
        if not ask.model and ask.level > 1:
            return first_look(ask, card=card, progress=progress)
        return probing(ask, card=card, progress=progress)


def _publish(report: Report, emit: str | None, shared: Shared, config: Config) -> int:
    from jaxdoctor.config.selection import judged
    from jaxdoctor.facts.prescription import Prescription
    from jaxdoctor.reports.publish import severity_named
    from jaxdoctor.workers.stdout import to_stdout

    if emit is None:
        return shared.publish(report, config)
    if shared.outputs:
        shared.publish(report, config)
    snippet = WRITERS[emit](report.prescription or Prescription())
    to_stdout(lambda out: out.write(snippet))
    return judged(report, config).exit_code(severity_named(config.fail_on))


COMMAND = Command(
    probe,
    examples=(
        "jaxdoctor probe robot.xml --card rtx-4090",
        "jaxdoctor probe --env brax:ant --policy runs/ppo/000000512000 --card rtx-4090",
        "jaxdoctor probe train.py:loss --args train.py:make_args --card rtx-4090 --attribute",
        "jaxdoctor probe --level 1 --expect-card h100 --expect-count 8",
    ),
)
