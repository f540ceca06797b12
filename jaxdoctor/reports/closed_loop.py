"""A closed loop in sentences, the same in every format for people."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from jaxdoctor.facts.closed_loop import WARP, ClosedLoop, Episodes, Mean
from jaxdoctor.facts.outcome import Outcome
from jaxdoctor.facts.text import counted
from jaxdoctor.facts.trial import Trial


def sentences(outcome: Outcome) -> list[str]:
    """What drove the environment, what the batch changes, the returns, and what became of NaN."""
    loop = outcome.loop
    if loop is None:
        return []
    return [
        _driven(loop),
        *_bits(loop),
        *_classes(loop),
        *_returns(outcome),
        *_first(outcome),
        *_nan(outcome),
        *_varied(loop),
    ]


def _driven(loop: ClosedLoop) -> str:
    if loop.engine == WARP:
        return (
            f"{loop.policy} in JAX, where the precision reaches; the physics in MuJoCo Warp's float32, where "
            "no setting of JAX does"
        )
    return f"{loop.policy}, and {loop.physics}: the precision reaches both"


def _bits(loop: ClosedLoop) -> Iterator[str]:
    if loop.policy_bits is not None:
        physics = "" if loop.physics_bits is None else f", those of the physics {loop.physics_bits}"
        yield f"the policy's products alone require {counted(loop.policy_bits, 'bit')}{physics}"


def _classes(loop: ClosedLoop) -> Iterator[str]:
    for places, where in ((loop.only_batched, "the batch"), (loop.only_alone, "a batch of one")):
        if places:
            yield f"matrix units compute {_listed(places)} in {where} alone"


MOST_PLACES = 3


def _listed(places: tuple[str, ...]) -> str:
    rest = len(places) - MOST_PLACES
    return ", ".join(places[:MOST_PLACES]) + (f" and {counted(rest, 'more line')}" if rest > 0 else "")


def _episodes(outcome: Outcome) -> Iterator[tuple[Trial, Episodes]]:
    for trial in outcome.trials:
        if trial.episodes is not None and not trial.precision.name.isdecimal():
            yield trial, trial.episodes


def _returns(outcome: Outcome) -> Iterator[str]:
    told = [
        (f"{_at(trial)} {mean(episodes.returns)}", trial.replays)
        for trial, episodes in _episodes(outcome)
        if episodes.returns is not None
    ]
    # Means over other starts differ without any loss.
    alike = len({replays for _, replays in told}) == 1
    shown = [text if alike else f"{text} of {replays} replays" for text, replays in told]
    if shown:
        yield f"return, with its 95 % interval: {'; '.join(shown)}"


def mean(value: Mean) -> str:
    """A mean with its interval: "12.3 (11 to 13.6)"."""
    return f"{value.value:.3g} ({value.low:.3g} to {value.high:.3g})"


def _at(trial: Trial) -> str:
    return trial.precision.name if trial.batch is None else f"{trial.precision.name}, batch {trial.batch}"


def _first(outcome: Outcome) -> Iterator[str]:
    for trial, episodes in _episodes(outcome):
        if episodes.part is not None:
            yield f"at {_at(trial)} {began(trial, episodes)}"
            return


def began(trial: Trial, episodes: Episodes) -> str:
    """Where it was first not finite: "the policy output is first not finite, at step 3, from ..."."""
    seen = "from an observation that is not finite itself"
    if episodes.magnitude is not None:
        seen = f"from a finite observation of magnitude {episodes.magnitude:.2g}"
        if episodes.deviations is not None and isfinite(episodes.deviations):
            seen += f", {episodes.deviations:.2g} standard deviations from what the normaliser knows"
    where = f"{trial.first_bad_field} at step {trial.first_bad_step}"
    return f"the {episodes.part} is first not finite, {where}, {seen}"


def _nan(outcome: Outcome) -> Iterator[str]:
    for trial, episodes in _episodes(outcome):
        if episodes.masked or episodes.surviving or episodes.entering:
            yield (
                f"of {trial.replays} replays at {_at(trial)} an auto-reset would mask {episodes.masked} and "
                f"leave {episodes.surviving} as they are; {episodes.entering} would enter a normaliser's "
                "statistics"
            )
            return


def _varied(loop: ClosedLoop) -> Iterator[str]:
    auto = loop.auto_reset
    if auto is not None:
        yield (
            f"with the auto-reset of training, {auto.masked:,} ends by NaN were masked in {auto.rows:,} rows "
            f"of {auto.steps:,} steps, and {counted(auto.left, 'row')} stayed not finite"
        )
    if loop.open_loop:
        told = [f"{one.failed} of {one.replays} at {one.precision}" for one in loop.open_loop]
        yield f"with float32's actions and no policy in the loop, there fail {', '.join(told)}"
