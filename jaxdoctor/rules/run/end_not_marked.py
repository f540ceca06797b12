"""JD410."""

from __future__ import annotations

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.series import Series
from jaxdoctor.facts.text import counted
from jaxdoctor.rules.rule import Hits, rule

FEWEST_OTHERS = 2
"""Saves that must carry a mark before it is the run's habit."""


@rule("JD410", Severity.WARNING)
def end_not_marked(series: Series) -> Hits:
    """A save carries no mark of its end, and the others of its run do.

    ## What it saw

    A file such as `DONE`, `_SUCCESS` or `commit_success.txt` in every other step of the run, or
    `step_100.npz.done` beside it, and none in this one.

    ## Why it matters

    Whoever writes such a mark writes it last. A save without it was begun and not ended: what is in it
    may be a part, or a mixture of two saves, and every file of it may still look whole.

    ## What to do

    Resume from another step. If the job still runs, wait for the mark.

    ## Example

    ```text
    JD410 warning end-not-marked: it has no DONE, which the 2 other checkpoints of the run have
    ```

    ## Sources

    - https://orbax.readthedocs.io/en/latest/guides/checkpoint/async_checkpointing.html
    """
    finished = [saved for saved in series.checkpoints if saved.finished]
    habits = {mark for saved in finished for mark in saved.marks}
    for saved in finished:
        others = [other for other in finished if other is not saved]
        for mark in sorted(habits - set(saved.marks)):
            if len(others) >= FEWEST_OTHERS and all(mark in other.marks for other in others):
                number = counted(len(others), "other checkpoint")
                yield Hit(
                    location=Location(path=saved.path, step=saved.step),
                    message=f"it has no {mark}, which the {number} of the run have",
                    evidence={"mark": mark, "others": len(others)},
                    fix="resume from another step, or wait for the mark if the job still runs",
                    go_back=True,
                )
