"""JD311."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.counter import SavedCounter
from jaxdoctor.facts.dtypes import dtype_named
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.leaf import Leaf, Role
from jaxdoctor.facts.series import Series, Sighting, falls
from jaxdoctor.rules.rule import Hits, rule

SENTINELS = {16: 1 << 10}
WIDE_SENTINELS = 1 << 20
"""Small negative counts are marks, such as torch's last_epoch of -1. A wrap starts at the type's end."""

BYTE_BITS, WORD_BITS = 8, 32

CURE = "use a 64-bit counter, such as jaxdoctor.remedies.StepCounter"
FAR = 1 << 30
"""A nameless number must lie so far below zero."""


@rule("JD311", Severity.ERROR)
def counter_wrapped(series: Series) -> Hits:
    """A counter passed the end of its type and started again from the other end.

    ## What it saw

    One of these: a count far below zero, also as a Python number or in 64 bits, where an int32 that had
    wrapped was widened when it was saved; a count, of whatever width, that fell between two checkpoints
    by what a wrap at 2^32 explains; a count that is another count of the same checkpoint, or the number
    in the folder's name, modulo 2^32; a folder whose name is a negative step, as Brax makes it from a
    wrapped `env_steps`. A nameless int32 near -2^31 is a warning.

    ## Why it matters

    JAX's int32 wraps from 2147483647 to -2147483648 silently. Loops that wait for
    `step >= num_timesteps` never end, schedules start again, and loggers drop every row whose step is
    not above the last one.

    ## What to do

    Count in 64 bits: `jaxdoctor.remedies` has a counter of two uint32 that works without x64; Brax has
    one since 0.12.2. For this run: the true count is what is printed plus 2^32 for each time round.

    ## Example

    ```text
    JD311 error counter-wrapped: env_steps fell from 2,000,683,008 to -1,627,389,952: it grew by
      666,894,336 modulo 2^32
    ```

    ## Sources

    - https://github.com/google-deepmind/mujoco_playground/issues/48
    - https://github.com/google/brax/issues/578
    - https://github.com/google/brax/commit/84b9b4f
    """
    reported: set[str] = set()
    for path, sightings in series.histories.items():
        for hit in itertools.chain(_fell(sightings), _negative(sightings), _congruent(sightings)):
            if path not in reported:
                reported.add(path)
                yield hit
    yield from _folders(series)
    yield from _nameless(series)


def _where(saved: Checkpoint, leaf: str | None) -> Location:
    return Location(path=saved.path, leaf=leaf, step=saved.step)


def _fell(sightings: tuple[Sighting, ...]) -> Iterator[Hit]:
    for fall in falls(sightings):
        if fall.grown is None:
            continue
        first, second = int(fall.before.counter.value), int(fall.after.counter.value)
        after = fall.after.counter
        yield Hit(
            location=_where(fall.after.saved, after.path),
            message=f"{after.path} fell from {first:,} to {second:,}: it grew by {fall.grown:,} modulo 2^32",
            evidence={"before": first, "after": second, "grown": fall.grown, "dtype": after.dtype},
            fix=f"{CURE}; the true count is {second + (1 << WORD_BITS):,}",
        )


def _negative(sightings: tuple[Sighting, ...]) -> Iterator[Hit]:
    for saved, counter in sightings:
        bits = counter.type.bits
        if counter.type.kind not in {"int", "float"} or counter.halves is not None or bits <= BYTE_BITS:
            continue
        if counter.value < -SENTINELS.get(bits, WIDE_SENTINELS) and counter.value == int(counter.value):
            yield _below_zero(saved, counter)


def _below_zero(saved: Checkpoint, counter: SavedCounter) -> Hit:
    """In a type wider than 32 bits, a value that int32 holds too wrapped before it was widened."""
    value, bits = int(counter.value), counter.type.bits
    widened = counter.type.kind == "float" or bits > WORD_BITS
    if widened and value < -(1 << (WORD_BITS - 1)):
        return Hit(
            location=_where(saved, counter.path),
            message=f"{counter.path} is {value:,}, and a count is never below zero",
            evidence={"value": value, "dtype": counter.dtype},
            fix="see where it is counted; no wrap at 2^32 explains this number",
        )
    true = value + (1 << (WORD_BITS if widened else bits))
    meaning = f"which is {true:,} in {counter.dtype}"
    if widened:
        meaning = f"an int32 that wrapped before it was saved as {counter.dtype}: the true count is {true:,}"
    return Hit(
        location=_where(saved, counter.path),
        message=f"{counter.path} is {value:,}, {meaning}",
        evidence={"value": value, "dtype": counter.dtype, "likely": true},
        fix=f"{CURE}; the true count is likely {true:,}",
    )


def _congruent(sightings: tuple[Sighting, ...]) -> Iterator[Hit]:
    for saved, counter in sightings:
        if not counter.type.integral or counter.type.bits < WORD_BITS or counter.halves is not None:
            continue
        narrow = counter.type if counter.type.bits == WORD_BITS else dtype_named("int32")
        for name, true in saved.beyond_a_word.get(int(counter.value) % (1 << WORD_BITS), ()):
            # A counter that passed the end and is small again needs a witness beyond the end.
            if true > (narrow.maximum or true) and true != counter.value == narrow.wrapped(true) != 0:
                yield Hit(
                    location=_where(saved, counter.path),
                    message=f"{counter.path} is {counter.value:,}: {name} tells {true:,}, equal modulo 2^32",
                    evidence={"value": counter.value, "true": true, "witness": name},
                    fix=f"{CURE}; the true count is {true:,}",
                )
                break


def _folders(series: Series) -> Iterator[Hit]:
    for saved in series.checkpoints:
        if saved.named_step is not None and saved.named_step < -WIDE_SENTINELS:
            true = saved.named_step + (1 << 32)
            yield Hit(
                location=Location(path=saved.path, step=saved.named_step),
                message=f"its name tells step {saved.named_step}, which is an int32 that wrapped: {true:,}",
                evidence={"step": saved.named_step, "likely": true},
                fix="count in 64 bits; Brax does since 0.12.2",
            )
            return


def _nameless(series: Series) -> Iterator[Hit]:
    for saved in series.checkpoints:
        for leaf in saved.leaves:
            if _is_nameless(leaf) and isinstance(leaf.value, int) and leaf.value < -FAR:
                yield Hit(
                    location=_where(saved, leaf.path),
                    message=f"{leaf.path} is {leaf.value:,}, as a counter is that wrapped",
                    evidence={"value": leaf.value, "dtype": leaf.dtype},
                    severity=Severity.WARNING,
                )


def _is_nameless(leaf: Leaf) -> bool:
    named = any(not name.isdigit() and name != "leaf" for name in leaf.names)
    return leaf.role is Role.OTHER and leaf.dtype == "int32" and leaf.shape == () and not named
