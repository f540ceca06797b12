"""JD311."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from jaxdoctor.facts.checkpoint import Checkpoint, Leaf, Role, SavedCounter
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.series import Series, Sighting
from jaxdoctor.rules.rule import Hits, rule

SENTINELS = 1 << 20
"""Small negative counts are marks, such as torch's last_epoch of -1. A wrap starts at -2^31."""

HALF = 1 << 30
"""A count must have come this far before a fall can be a wrap, and a nameless number must lie so low."""

PATIENCE = 8
"""A wrap explains a fall when the step over the end is at most so many of the steps before."""


@rule("JD311", Severity.ERROR)
def counter_wrapped(series: Series) -> Hits:
    """A counter passed the end of its type and started again from the other end.

    ## What it saw

    One of these: a count far below zero; a count that fell between two checkpoints by what a wrap at
    2^32 explains; a count that is another count of the same checkpoint, or the number in the folder's
    name, modulo 2^32; a folder whose name is a negative step, as Brax makes it from a wrapped
    `env_steps`. A nameless int32 near -2^31 is a warning.

    ## Why it matters

    JAX's int32 wraps from 2147483647 to -2147483648 without a word. Loops that wait for
    `step >= num_timesteps` never end, schedules start again, and loggers drop every row whose step is
    not above the last one.

    ## What to do

    Count in 64 bits: `jaxdoctor.remedies` has a counter of two uint32 that works without x64; Brax has
    one since 0.12.2. For this run: the true count is what is printed plus 2^32 for each time round.

    ## Example

    ```text
    JD311 error counter-wrapped: env_steps fell from 2000683008 to -1627389952: +666894336 modulo 2^32
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco_playground/issues/48
    - https://github.com/google/brax/issues/578
    - https://github.com/google/brax/commit/84b9b4f
    """
    told: set[str] = set()
    for path, sightings in series.histories.items():
        for hit in itertools.chain(_fell(sightings), _negative(sightings), _congruent(sightings)):
            if path not in told:
                told.add(path)
                yield hit
    yield from _folders(series)
    yield from _nameless(series)


def _where(saved: Checkpoint, leaf: str | None) -> Location:
    return Location(path=saved.path, leaf=leaf, step=saved.step)


def _fell(sightings: tuple[Sighting, ...]) -> Iterator[Hit]:
    usual: list[int] = []
    for (_, before), (saved, after) in itertools.pairwise(sightings):
        if not _wraps(before) or not _wraps(after):
            continue
        first, second = int(before.value), int(after.value)
        grown = (second - first) % (1 << 32)
        if second >= first:
            usual.append(grown)
        elif first >= HALF and grown < (PATIENCE * max(usual) if usual else HALF):
            yield Hit(
                location=_where(saved, after.path),
                message=f"{after.path} fell from {first} to {second}: +{grown} modulo 2^32",
                evidence={"before": first, "after": second, "grown": grown, "dtype": after.dtype},
                fix="count in 64 bits; the true count is this plus 4294967296",
            )


def _wraps(counter: SavedCounter) -> bool:
    return counter.type.integral and counter.type.bits == 32 and counter.halves is None  # noqa: PLR2004


def _negative(sightings: tuple[Sighting, ...]) -> Iterator[Hit]:
    for saved, counter in sightings:
        if counter.type.kind == "int" and counter.halves is None and counter.value < -SENTINELS:
            true = int(counter.value) + (1 << counter.type.bits)
            yield Hit(
                location=_where(saved, counter.path),
                message=f"{counter.path} is {counter.value}, which is {true} in {counter.dtype}",
                evidence={"value": counter.value, "dtype": counter.dtype, "likely": true},
                fix=f"count in 64 bits; the true count is likely {true}",
            )


def _congruent(sightings: tuple[Sighting, ...]) -> Iterator[Hit]:
    for saved, counter in sightings:
        if not _wraps(counter):
            continue
        others = {other.path: int(other.value) for other in saved.counters if other.type.integral}
        if saved.named_step is not None:
            others["the name of the checkpoint"] = saved.named_step
        for name, true in others.items():
            # A counter that passed the end and is small again needs a witness beyond the end.
            if true > (counter.limit or true) and counter.type.wrapped(true) == counter.value != 0:
                yield Hit(
                    location=_where(saved, counter.path),
                    message=f"{counter.path} is {counter.value}: {name} tells {true}, the same modulo 2^32",
                    evidence={"value": counter.value, "true": true, "witness": name},
                    fix=f"count in 64 bits; the true count is {true}",
                )


def _folders(series: Series) -> Iterator[Hit]:
    for saved in series.checkpoints:
        if saved.named_step is not None and saved.named_step < -SENTINELS:
            true = saved.named_step + (1 << 32)
            yield Hit(
                location=Location(path=saved.path, step=saved.named_step),
                message=f"its name tells step {saved.named_step}, which is {true} in int32",
                evidence={"step": saved.named_step, "likely": true},
                fix="count in 64 bits; Brax does since 0.12.2",
            )
            return


def _nameless(series: Series) -> Iterator[Hit]:
    for saved in series.checkpoints:
        for leaf in saved.leaves:
            if _is_nameless(leaf) and isinstance(leaf.value, int) and leaf.value < -HALF:
                yield Hit(
                    location=_where(saved, leaf.path),
                    message=f"{leaf.path} is {leaf.value}, as a counter is that wrapped",
                    evidence={"value": leaf.value, "dtype": leaf.dtype},
                    severity=Severity.WARNING,
                )


def _is_nameless(leaf: Leaf) -> bool:
    named = any(not name.isdigit() and name != "leaf" for name in leaf.names)
    return leaf.role is Role.OTHER and leaf.dtype == "int32" and leaf.shape == () and not named
