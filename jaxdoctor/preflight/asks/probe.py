"""A rollout to replay, as it is asked for."""

from __future__ import annotations

from dataclasses import replace

from jaxdoctor.config.settings import ProbeEntry
from jaxdoctor.errors import UnknownNameError, UsageError
from jaxdoctor.facts.precision import PRECISIONS, Precision, precision_named
from jaxdoctor.machine.card import HERE, card_named
from jaxdoctor.probe.ask import Ask
from jaxdoctor.probe.run import check, scenario_ask

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
    if entry.controls is not None and entry.model is None and entry.scenario is None:
        raise UsageError("--controls were given and no model", hint="name the model that they drive")
    for card in entry.cards:
        if card != HERE:
            card_named(card)
    ask = Ask(
        model=entry.model or "",
        subject=entry.model or "",
        controls=entry.controls,
        steps=entry.steps,
        replays=entry.replays,
        batch=entry.batch,
        seed=entry.seed,
        level=entry.level or level,
        precisions=tuple(precision_asked(one) for one in entry.precision if not one.startswith(EVERYWHERE)),
        all_products=tuple(precision_asked(one) for one in entry.precision if one.startswith(EVERYWHERE)),
        time_limit=seconds,
        cache=entry.cache,
        cures=entry.cures,
        engine=entry.engine,
        priced=entry.price,
        attribute=entry.attribute,
    )
    if entry.scenario is not None:
        ask = scenario_ask(ask, entry.scenario)
    check(ask)
    return ask
