"""JD342."""

from __future__ import annotations

import itertools

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.fault import Fault
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.series import Series
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule

NAMED = 3


@rule("JD342", Severity.ERROR)
def part_vanished(series: Series) -> Hits:
    """A save lacks a part that the save before it has.

    ## What it saw

    A rank's file, or an item of a step, that the checkpoint before has and this one has not, while the arrays
    that both hold have the same shapes: so the number of ranks was not changed.

    ## Why it matters

    A process died while it saved, or a copy left its files out. The rest is whole, and cannot be restored
    alone.

    ## What to do

    Copy the missing part, or restore the step before.

    ## Example

    ```text
    JD342 error part-vanished: mp_rank_01 is missing; iter_0001000 has it
    ```

    ## Sources

    - https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/training/checkpointing.py
    """
    with_parts = [saved for saved in series.checkpoints if saved.parts]
    for before, after in itertools.pairwise(with_parts):
        lost = [
            name
            for name in before.parts
            if name not in after.parts
            and _is_lost(name, after, with_parts)
            and not any(_tells(fault, name) for fault in after.faults_of("missing-file"))
        ]
        # Where names are new as well, the layout was changed, and nothing was lost.
        added = [name for name in after.parts if name not in before.parts]
        if lost and not added and _same_shapes(before, after):
            yield _hit(before, after, lost)


def _tells(fault: Fault, name: str) -> bool:
    """Whether the reader missed the part as well, by its name or by what kind it is of."""
    kind = fault.evidence.get("missing_kind")
    return name in fault.message or (isinstance(kind, str) and kind in name)


def _is_lost(name: str, here: Checkpoint, saved: list[Checkpoint]) -> bool:
    """Whether all saves before have the part, and it is not one that is written now and then."""
    index = saved.index(here)
    without = [one for one in saved if name not in one.parts]
    return without[0] is here and (len(without) == 1 or len(without) == len(saved) - index)


def _same_shapes(before: Checkpoint, after: Checkpoint) -> bool:
    shapes = {leaf.path: leaf.shape for leaf in before.leaves}
    return all(shapes.get(leaf.path, leaf.shape) == leaf.shape for leaf in after.leaves)


def _hit(before: Checkpoint, after: Checkpoint, lost: list[str]) -> Hit:
    listed = ", ".join(lost[:NAMED])
    said = (
        f"{listed} is missing" if len(lost) == 1 else f"{counted(len(lost), 'part')} are missing ({listed})"
    )
    return Hit(
        location=Location(path=after.path, step=after.step),
        message=f"{said}; {before.path} has {'it' if len(lost) == 1 else 'them'}",
        evidence={"missing": lost[:16], "before": before.path},
        fix="copy the missing part, or restore the step before",
        go_back=True,
    )
