"""JD404."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.dtypes import dtype_named
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.series import Series
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule

CERTAIN = re.compile(r"(?:^|[-_])(?:global_)?steps?[=]\d+|_\d+_steps?\b", re.IGNORECASE)
"""Names in which Lightning and Stable-Baselines3 write the very count that they save."""

FACTOR = 2
"""Of one checkpoint alone: numbers further apart count different things, such as epochs and updates."""

SMALLEST = 10
"""A name below this equals the step inside by chance."""

ALIKE = 0.01


class Pair(NamedTuple):
    """The step that a name tells, and the one inside."""

    saved: Checkpoint
    named: int
    key: str
    held: int

    @property
    def apart(self) -> bool:
        """Whether they are further apart than a step that is counted before or after the save."""
        return abs(self.named - self.held) > 1


@rule("JD404", Severity.WARNING)
def step_disagrees(series: Series) -> Hits:
    """A checkpoint's name and the step inside it differ.

    ## What it saw

    A step inside, as a count, in the metadata or in a trainer's `global_step`, that is not the number
    that the file or folder is named after: of a trainer, of Lightning's `step=` and Stable-Baselines3's
    `_steps` always; of others where another checkpoint of the run agrees with its name, or where one
    alone is off by less than half. A factor or an offset that all checkpoints of the run share is left
    out: names may count samples, environments or epochs.

    ## Why it matters

    Whoever resumes "from step 1000" resumes from another one, and the learning rate with it. The count
    began again, the folder was renamed, or two runs wrote into one place.

    ## What to do

    Trust the step inside, and see which run wrote the folder.

    ## Example

    ```text
    JD404 warning step-disagrees: global_step is 900, and its name tells 1000
    ```

    ## Sources

    - https://huggingface.co/docs/transformers/main_classes/trainer
    - https://github.com/Lightning-AI/pytorch-lightning/issues/6470
    - https://github.com/DLR-RM/stable-baselines3/issues/785
    """
    pairs = list(_pairs(series))
    wrong = [pair for pair in pairs if pair.apart and not _repeats(pair, pairs)]
    certain = [pair for pair in wrong if _certain(pair)]
    if certain:
        for pair in certain:
            yield _hit(pair, [])
    elif wrong and _told_by_others(pairs):
        yield _hit(wrong[0], wrong[1:])


def _pairs(series: Series) -> Iterator[Pair]:
    for saved in series.checkpoints:
        own = saved.own_step
        if own is None or saved.named_step is None or saved.named_step <= 0 or own[1] < 0:
            continue
        # A name beyond 32 bits beside the same number modulo 2^32 is a wrapped counter.
        if dtype_named("int32").wrapped(saved.named_step) != own[1] or saved.named_step == own[1]:
            yield Pair(saved, saved.named_step, *own)


def _repeats(pair: Pair, pairs: Sequence[Pair]) -> bool:
    """Whether it holds the step of the checkpoint before: a step that stands still has its own rule."""
    index = pairs.index(pair)
    return index > 0 and pairs[index - 1].held == pair.held


def _certain(pair: Pair) -> bool:
    trainer = isinstance(pair.saved.metadata.get("global_step"), int)
    return trainer or CERTAIN.search(PurePath(pair.saved.path).name) is not None


def _told_by_others(pairs: Sequence[Pair]) -> bool:
    """Whether the name should tell the step inside, as far as this run shows."""
    if len(pairs) == 1:
        named, held = pairs[0].named, pairs[0].held
        return held > 0 and max(named, held) <= FACTOR * min(named, held)
    agree = [pair for pair in pairs if not pair.apart and pair.named >= SMALLEST]
    return bool(agree) and not _same_relation(pairs)


def _same_relation(pairs: Sequence[Pair]) -> bool:
    offsets = {pair.named - pair.held for pair in pairs}
    ratios = [pair.held / pair.named for pair in pairs]
    return len(offsets) == 1 or max(ratios) - min(ratios) <= ALIKE * max(ratios)


def _hit(pair: Pair, others: Sequence[Pair]) -> Hit:
    more = f"; so it is with {counted(len(others), 'other checkpoint')}" if others else ""
    return Hit(
        location=Location(path=pair.saved.path, step=pair.held),
        message=f"{pair.key} is {pair.held}, and its name tells {pair.named}{more}",
        evidence={
            "global_step": pair.held,
            "named": pair.named,
            **({"also_in": [other.saved.path for other in others]} if others else {}),
        },
        fix="trust the step inside, and see which run wrote it",
    )
