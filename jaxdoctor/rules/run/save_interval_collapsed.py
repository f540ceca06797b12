"""JD401."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from jaxdoctor.facts.checkpoint import Checkpoint
from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.series import Series
from jaxdoctor.rules.rule import Hits, rule

IN_A_ROW = 2
"""One short gap is the end of a run, or an evaluation; two are a habit."""

WIDE, NARROW, MUCH = 3, 4, 20
"""Without a declared interval: after so many equal gaps, so many that are so much narrower."""

VERY_MUCH = 100
"""So much narrower is no policy of keeping that anybody sets."""


@rule("JD401", Severity.ERROR)
def save_interval_collapsed(series: Series) -> Hits:
    """Checkpoints are saved far more often than the run was set up to do.

    ## What it saw

    Two gaps in a row between saved steps of less than half of `save_steps`, while `save_steps` stayed
    the same. Left out: the last, partial gap, saves at the end of an epoch, and runs whose `save_steps`
    really is so small. Without a `save_steps`, in a run of any format: four equal gaps in a row of at
    most a hundredth of the three before are a warning, and of at most a twentieth a note. A policy that
    keeps every n-th save and the newest few (`keep_period` with `max_to_keep`) looks like the latter.

    ## Why it matters

    TRL's PPO-like trainers once counted a step for each minibatch and planned for each batch: past
    `max_steps`, every step asked for a save. Someone's run wrote 12 TB.

    ## What to do

    Stop the run before the disk is full. Update TRL (RLOO: 0.13, OnlineDPO: 0.10), or set
    `save_strategy="no"` and save yourself; `jaxdoctor.remedies` has a cadence that cannot collapse.

    ## Example

    ```text
    JD401 error save-interval-collapsed: saved every 2 steps from step 502 on, and save_steps is 500
    ```

    ## Sources

    - https://github.com/huggingface/trl/issues/2124
    - https://github.com/huggingface/trl/issues/1889
    """
    saves = [saved for saved in _by_number(series) if not _ends_epoch(saved)]
    declared = [saved for saved in saves if _save_steps(saved)]
    yield from _against_declared(declared) if declared else _against_habit(saves)


def _number(saved: Checkpoint) -> int:
    """What its name tells; the step inside may stand still while the saves go on."""
    step = saved.step if saved.named_step is None else saved.named_step
    return -1 if step is None else step


def _by_number(series: Series) -> list[Checkpoint]:
    return sorted((saved for saved in series.checkpoints if _number(saved) >= 0), key=_number)


def _save_steps(saved: Checkpoint) -> float:
    declared = saved.metadata.get("save_steps")
    return declared if isinstance(declared, int | float) and declared > 0 else 0


def _ends_epoch(saved: Checkpoint) -> bool:
    epoch = saved.metadata.get("epoch")
    return isinstance(epoch, int | float) and epoch > 0 and float(epoch).is_integer()


def _is_last(saved: Checkpoint) -> bool:
    return saved.step == saved.metadata.get("max_steps")


def _against_declared(saves: Sequence[Checkpoint]) -> Iterator[Hit]:
    short = 0
    for before, after in pairwise(saves):
        interval = _save_steps(after)
        gap = _number(after) - _number(before)
        kept = _save_steps(before) == interval
        if not kept or gap <= 0 or gap * 2 >= interval or _is_last(after):
            short = 0
            continue
        short += 1
        if short == IN_A_ROW:
            first = _number(after) - gap * IN_A_ROW
            yield Hit(
                location=Location(path=after.path, step=after.step),
                message=f"saved every {gap} steps from step {first} on, and save_steps is {interval:g}",
                evidence={"gap": gap, "save_steps": interval, "since": first},
                fix="stop the run before the disk is full, and update the trainer",
            )
            return


def _against_habit(saves: Sequence[Checkpoint]) -> Iterator[Hit]:
    gaps = [_number(after) - _number(before) for before, after in pairwise(saves)]
    for start in range(WIDE, len(gaps) - NARROW + 1):
        wide, narrow = gaps[start - WIDE : start], gaps[start : start + NARROW]
        if len(set(wide)) == 1 and len(set(narrow)) == 1 and 0 < narrow[0] * MUCH <= wide[0]:
            since, kept = _number(saves[start]), narrow[0] * VERY_MUCH > wide[0]
            yield Hit(
                location=Location(path=saves[start + 1].path, step=saves[start + 1].step),
                message=f"saved every {wide[0]} steps, and every {narrow[0]} from step {since} on",
                evidence={"gap": narrow[0], "before": wide[0], "since": since},
                fix="stop the run before the disk is full, unless keep_period and max_to_keep were set so",
                severity=Severity.NOTE if kept else Severity.WARNING,
            )
            return
