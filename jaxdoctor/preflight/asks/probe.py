"""A rollout to replay, as it is asked for."""

from __future__ import annotations

from dataclasses import replace

from jaxdoctor.config.settings import ProbeEntry
from jaxdoctor.errors import UnknownNameError, UsageError
from jaxdoctor.facts.precision import PRECISIONS, Precision, precision_named
from jaxdoctor.machine.card import HERE, card_named
from jaxdoctor.probe.ask import MJX, Ask
from jaxdoctor.probe.run import check, scenario_ask
from jaxdoctor.rollouts.played import kept_in
from jaxdoctor.rollouts.source import find_source
from jaxdoctor.rollouts.sources import environment, function
from jaxdoctor.rollouts.sources.environment import EnvironmentNamed
from jaxdoctor.rollouts.sources.function import Named

EVERYWHERE = "all-"
"""Before a precision's name: every product is rounded, not only those that matrix units compute."""


def precision_asked(name: str) -> Precision:
    """The precision that a user means; "all-tf32" is tf32 under that name.

    Raises:
        UnknownNameError: there is none.
    """
    try:
        found = precision_named(name.removeprefix(EVERYWHERE))
    except KeyError:
        known = [*PRECISIONS, *(f"{EVERYWHERE}{known}" for known in PRECISIONS), "1 to 23 (mantissa bits)"]
        raise UnknownNameError("precision", name, known) from None
    return replace(found, name=name) if name.startswith(EVERYWHERE) else found


def probe_ask(entry: ProbeEntry, *, seconds: float, level: int = 2) -> Ask:
    """What the entry asks.

    Args:
        entry: paths in it are as seen from the working folder.
        seconds: for the whole probe.
        level: where the entry says none.

    Raises:
        UsageError: it cannot be meant.
    """
    if entry.model is not None and entry.scenario is not None:
        raise UsageError(
            f"both {entry.model} and --scenario {entry.scenario} were given", hint="give one of the two"
        )
    if entry.controls is not None and not (entry.model or entry.scenario or entry.function or entry.env):
        raise UsageError("--controls were given and no model", hint="name the model that they drive")
    if entry.bundle_policy:
        _insist_on_bundled_policy(entry)
    keep = kept_in(entry.controls)
    driven, named = _environment(entry), _function(entry)
    for card in entry.cards:
        if card != HERE:
            card_named(card)
    ask = Ask(
        model=_argument(entry, named, driven),
        subject=entry.model or entry.function or entry.env or "",
        controls=None if keep is not None else entry.controls,
        keep=keep,
        steps=entry.steps if named is None else 1,
        replays=entry.replays,
        batch=entry.batch,
        training_batch=entry.training_batch,
        seed=entry.seed,
        level=entry.level or level,
        precisions=tuple(precision_asked(one) for one in entry.precision if not one.startswith(EVERYWHERE)),
        all_products=tuple(precision_asked(one) for one in entry.precision if one.startswith(EVERYWHERE)),
        time_limit=seconds,
        cache=entry.cache,
        cures=entry.cures,
        engine=entry.engine,
        bundle=entry.bundle,
        bundle_policy=entry.bundle_policy,
        priced=entry.price,
        attribute=entry.attribute,
        attribute_error=entry.attribute_error,
    )
    if entry.scenario is not None:
        ask = scenario_ask(ask, entry.scenario)
    if driven is not None:
        find_source(ask.model)
    check(ask)
    return ask


def _insist_on_bundled_policy(entry: ProbeEntry) -> None:
    """Whether there is a policy, and a bundle for it.

    Raises:
        UsageError: one of them is missing.
    """
    if entry.bundle is None:
        raise UsageError("--bundle-policy was given without --bundle", hint="say --bundle FILE too")
    if entry.policy is None:
        raise UsageError(
            "--bundle-policy was given and no policy",
            hint="name it with --policy; a random policy is made again by its seed",
        )


def _argument(entry: ProbeEntry, named: Named | None, driven: EnvironmentNamed | None) -> str:
    """What a source takes."""
    if driven is not None:
        return environment.written(driven)
    return entry.model or ("" if named is None else function.written(named))


def _environment(entry: ProbeEntry) -> EnvironmentNamed | None:
    """The environment that a policy drives; None: none is named.

    Raises:
        UsageError: something is missing, or belongs to a model or a function.
    """
    if entry.env is None:
        if entry.policy is None and entry.network is None:
            return None
        raise UsageError(
            "--policy or --network were given and no environment", hint="name it with --env, such as brax:ant"
        )
    alien = {
        entry.model or "": entry.model is not None,
        "--scenario": entry.scenario is not None,
        entry.function or "": entry.function is not None,
        "--engine warp": entry.engine != MJX,
    }
    played = entry.controls is not None and kept_in(entry.controls) is None
    if played and (entry.policy is not None or entry.network is not None):
        raise UsageError(
            f"both --controls {entry.controls} and --policy were given",
            hint="leave --policy out to play the file's actions, or --controls to let the policy act",
        )
    for option, given in alien.items():
        if given:
            raise UsageError(
                f"both --env {entry.env} and {option} were given", hint="give one of them: a policy drives it"
            )
    return environment.environment_named(entry.env, policy=entry.policy, network=entry.network)


def _function(entry: ProbeEntry) -> Named | None:
    """The function that is called, with what makes its arguments; None: a model is replayed.

    Raises:
        UsageError: something is missing, or belongs to a model.
    """
    if entry.function is None:
        if entry.args is None and entry.check is None:
            return None
        raise UsageError("--args or --check were given and no function", hint="name it as module:function")
    if entry.args is None:
        raise UsageError(
            f"{entry.function} was given without --args",
            hint="give --args module:make_args, a function that returns the arguments of a call",
        )
    alien = {
        "--scenario": entry.scenario is not None,
        "--controls": entry.controls is not None,
        "--steps": entry.steps not in (None, 1),
        "--engine warp": entry.engine != MJX,
    }
    for option, given in alien.items():
        if given:
            raise UsageError(
                f"{option} is for a model, and {entry.function} is a function", hint=f"leave out {option}"
            )
    return Named(function=entry.function, args=entry.args, check=entry.check)
