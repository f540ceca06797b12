"""The two local cures of products that need the bits, each tried on what was replayed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from jaxdoctor.facts.attribution import Around, Attribution
from jaxdoctor.programs.around_calls import around_calls
from jaxdoctor.programs.raise_precision import raise_precision
from jaxdoctor.replay.attribution import Attributing
from jaxdoctor.replay.ensemble import Ensemble, over_replays
from jaxdoctor.replay.hypotheses import FailingShares, OutOfTimeError
from jaxdoctor.replay.judge import judgement_of
from jaxdoctor.replay.plan import Lane
from jaxdoctor.replay.system import Simulation


def with_cures(
    found: Attribution, search: Attributing, asked: FailingShares, simulation: Simulation
) -> Iterator[Attribution]:
    """What was found, with what each of its cures did, once that is known.

    Args:
        found: with a set of products.
        search: what found it.
        asked: what it asked, whose compiled program tries hypotheses.
        simulation: loaded anew, so that its functions are those that modules hold now.
    """
    sites = [need.place for need in found.needs]
    found = replace(found, around=_around(sites, search, asked, simulation))
    yield found
    yield replace(found, cured=_rewritten(sites, search.delivered, asked, simulation))


def _around(
    sites: Sequence[str], search: Attributing, asked: FailingShares, simulation: Simulation
) -> Around | None:
    """The setting around the calls of functions: traced with it, then replayed with what it raises exact.

    A line that it raises on some call paths only counts as rounded.
    """
    if time.monotonic() > asked.deadline:
        return None
    asked.progress.stage("looking for the calls that hold those products")
    ensemble = search.ensemble
    reached = around_calls(over_replays(simulation), frozenset(sites), *ensemble.arguments)
    if reached is None:
        return None
    raised = {index for index, site in enumerate(search.sites) if site.place in reached.raised}
    try:
        finite = asked.stays_finite(search.lane(frozenset(raised)))
    except OutOfTimeError:
        finite = None
    return Around(
        functions=tuple(str(callee) for callee in reached.callees),
        beyond=tuple(sorted(reached.raised - set(sites))),
        share=reached.share,
        finite=finite,
    )


def _rewritten(
    sites: Sequence[str], delivered: Lane, asked: FailingShares, simulation: Simulation
) -> bool | None:
    """Whether the rewritten step stays finite as delivered; None: there was no time for it."""
    # The step is traced and compiled once more, and replayed.
    if time.monotonic() + 2 * asked.ensemble.compile_seconds > asked.deadline:
        return None
    asked.progress.stage("trying the step with those products at highest")
    raised = replace(simulation, step=raise_precision(simulation.step, sites))
    ensemble = Ensemble(raised, batch=asked.ensemble.batch, lanes=1)
    try:
        (rollout,) = ensemble.roll_out(asked.recording, [delivered], deadline=asked.deadline)
    except ValueError:
        return None
    judgement = judgement_of(delivered, [rollout], replays=asked.ensemble.batch, aside=asked.aside)
    return judgement.failed == 0
