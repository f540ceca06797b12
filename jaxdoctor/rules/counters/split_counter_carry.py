"""JD315."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.counter import SavedCounter
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.series import Series
from jaxdoctor.rules.rule import Hits, rule

PLAUSIBLE = 1 << 31
"""A larger step of the lower half between two checkpoints is a restart, not a carry."""


@rule("JD315", Severity.ERROR)
def split_counter_carry(series: Series) -> Hits:
    """A 64-bit count kept in two halves lost a carry.

    ## What it saw

    The lower half fell between two checkpoints and the upper half did not rise, although the run went
    on; or a lower half that is signed. A lower half above 2^31, or one that falls while the upper half
    rises, is as it should be.

    ## Why it matters

    The count went back by 4,294,967,296, and every schedule and stopping rule that reads it with it.

    ## What to do

    Carry: `lo = lo + d; hi = hi + (lo < d)`, both in uint32, as `brax.training.types.UInt64` does.

    ## Example

    ```text
    JD315 error split-counter-carry: env_steps/lo fell from 4294000000 to 32704, and env_steps/hi stayed at 0
    ```

    ## Sources

    - https://github.com/google/brax/blob/main/brax/training/types.py
    - https://github.com/google/brax/commit/84b9b4f
    """
    for sightings in series.histories.values():
        paired = [sighting for sighting in sightings if sighting.counter.halves is not None]
        yield from itertools.islice(
            (hit for sighting in paired for hit in _signed(sighting.saved, sighting.counter)), 1
        )
        for (earlier, before), (later, after) in itertools.pairwise(paired):
            yield from _lost(earlier, before, later, after)


def _signed(saved: Checkpoint, counter: SavedCounter) -> Iterator[Hit]:
    assert counter.halves is not None
    low = counter.halves[1]
    if low.type.kind == "int":
        yield Hit(
            location=Location(path=saved.path, leaf=low.path, step=saved.step),
            message=f"the lower half is {low.dtype}, so that it turns negative at 2,147,483,648",
            evidence={"dtype": low.dtype, "value": low.value},
            fix="keep both halves in uint32",
            severity=None if isinstance(low.value, int) and low.value < 0 else Severity.WARNING,
        )


def _lost(earlier: Checkpoint, before: SavedCounter, later: Checkpoint, after: SavedCounter) -> Iterator[Hit]:
    first, second = int(before.value), int(after.value)
    fell = (second & 0xFFFFFFFF) < (first & 0xFFFFFFFF)
    grown = (second - first) % (1 << 32)
    restarted = earlier.step is not None and later.step is not None and later.step <= earlier.step
    if fell and second >> 32 <= first >> 32 and grown < PLAUSIBLE and not restarted:
        yield Hit(
            location=Location(path=later.path, leaf=after.path, step=later.step),
            message=(
                f"the lower half of {after.path} fell from {first & 0xFFFFFFFF:,} "
                f"to {second & 0xFFFFFFFF:,}, and the upper half stayed at {second >> 32:,}"
            ),
            evidence={"before": first, "after": second},
            fix="carry into the upper half: hi + (lo < increment)",
        )
