"""JD345."""

from __future__ import annotations

import itertools

from jaxdoctor.facts.finding import Hit, Location, Severity
from jaxdoctor.facts.series import Series
from jaxdoctor.rules.rule import Hits, rule


@rule("JD345", Severity.WARNING)
def data_iterator_stuck(series: Series) -> Hits:
    """The saved state of the data iterator stays the same while the steps go on.

    ## What it saw

    The files of Grain's iterator in two or more checkpoints of a run: the same to the byte at other steps.

    ## Why it matters

    A run that resumes from the later checkpoint reads the same batches again. Nothing fails: the loss is only
    better than it should be.

    ## What to do

    Save the iterator that feeds the loop, not the one from which it was made: every call of `iter()` begins a
    new one.

    ## Example

    ```text
    JD345 warning data-iterator-stuck: the data iterator is the same at steps 1000, 2000 and 3000
    ```

    ## Sources

    - https://google-grain.readthedocs.io/en/latest/tutorials/dataset_advanced_tutorial.html
    """
    saved = [one for one in series.checkpoints if one.metadata.get("iterators") and one.step is not None]
    stuck = [
        (before, after)
        for before, after in itertools.pairwise(saved)
        if before.step != after.step and before.metadata["iterators"] == after.metadata["iterators"]
    ]
    if stuck:
        steps = [stuck[0][0].step, *(after.step for _, after in stuck)]
        listed = f"{', '.join(map(str, steps[:-1]))} and {steps[-1]}"
        yield Hit(
            location=Location(path=stuck[-1][1].path, step=stuck[-1][1].step),
            message=f"the data iterator is the same at steps {listed}",
            evidence={"steps": steps[:16]},
            fix="save the iterator that feeds the loop; each call of iter() begins a new one",
        )
